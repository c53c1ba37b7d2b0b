#include "app/cli/exec_body.h"

#include <array>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include <nlohmann/json.hpp>

#include "platform/base/bytes.h"
#include "schemas/execution.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

struct FlagWord {
  std::string_view field, flag;
};
constexpr std::array<FlagWord, 5> kFlagWords{{{"command", "the command"},
                                              {"cwd", "--cwd"},
                                              {"env", "--env"},
                                              {"stdin", "--stdin"},
                                              {"timeout_ms", "--timeout"}}};
constexpr std::string_view kBody = "body.";
constexpr std::string_view kBetween = "; ";

std::optional<std::string> read_input(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(path, std::ios::binary);
  file.peek();  // a folder can be opened, but not read
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// One problem: "body.cwd: …", "cwd: …" and "env.NAME: …" begin with a field.
std::string problem_in_flag_words(std::string_view problem) {
  const std::string_view named = problem.starts_with(kBody) ? problem.substr(kBody.size()) : problem;
  const std::size_t end = named.find_first_of(":.");
  for (const FlagWord& word : kFlagWords) {
    if (end == std::string_view::npos || named.substr(0, end) != word.field) continue;
    const std::string_view rest = named.substr(end);
    return std::string(word.flag).append(rest.front() == '.' ? " " : ":").append(rest.substr(1));
  }
  return std::string(problem);
}

}  // namespace

json exec_body(const ExecRequest& request, std::string& problem) {
  json body = {{"command", request.command}};
  if (!request.cwd.empty()) body["cwd"] = request.cwd;
  for (const std::string& pair : request.environment) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) problem = "--env wants NAME=value, not \"" + pair + "\"";
    body["env"][pair.substr(0, equals)] = equals == std::string::npos ? "" : pair.substr(equals + 1);
  }
  if (!request.timeout.empty()) {
    const auto timeout = base::parse_duration(request.timeout);
    if (!timeout) problem = "--timeout wants a time such as 10m, 90s or 500ms";
    if (timeout && (timeout->count() < 1 || timeout->count() > schemas::kTimeoutMsMax))
      problem = "--timeout wants a time from 1ms to 24h";
    body["timeout_ms"] = timeout ? timeout->count() : 0;
  }
  if (!request.input.empty()) {
    const auto input = read_input(request.input);
    if (!input) problem = request.input + " cannot be read";
    body["stdin"] = input.value_or("");
  }
  return body;
}

std::string in_flag_words(std::string_view message) {
  std::string out;
  for (;;) {
    const std::size_t end = message.find(kBetween);
    out += problem_in_flag_words(message.substr(0, end));
    if (end == std::string_view::npos) return out;
    out += kBetween;
    message.remove_prefix(end + kBetween.size());
  }
}

}  // namespace millrace::cli
