#include "app/cli/refusal.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "app/cli/json_cells.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kProblemsShown = 4;
constexpr milliseconds kUsualWait{1'000}, kLongestWait{60'000};

// RFC 9457: `detail` is about the first problem; the others follow.
std::string problem_text(const json& body) {
  std::string out = text_at(body, "detail");
  if (out.empty()) out = text_at(body, "title");
  const auto problems = body.find("errors");
  if (problems == body.end() || !problems->is_array()) return out;
  for (std::size_t i = 1; i < std::min(problems->size(), kProblemsShown); ++i) {
    const json& each = (*problems)[i];
    if (each.is_object()) out += "; " + text_at(each, "location") + ": " + text_at(each, "message");
  }
  return out;
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, value);
  if (text.empty() || problem != std::errc() || end != last || value < 0) return std::nullopt;
  return value;
}

}  // namespace

void read_refusal(const std::string& body, ClientError& error) {
  const json said = json::parse(body, nullptr, false);
  if (!said.is_object()) return;
  std::string message, code;
  if (const auto inner = said.find("error"); inner != said.end() && inner->is_object()) {
    message = text_at(*inner, "message");
    code = text_at(*inner, "code");
  } else if (said.contains("error_code")) {
    message = text_at(said, "message");
    code = text_at(said, "error_code");
  } else {
    message = problem_text(said);
  }
  if (!message.empty()) error.message = message;
  if (!code.empty()) error.code = code;
}

milliseconds retry_after(const net::HttpReply& reply) {
  const auto fine = whole(reply.header("retry-after-ms"));
  const auto coarse = whole(reply.header("retry-after"));
  if (fine) return milliseconds(std::min<std::int64_t>(*fine, kLongestWait.count()));
  if (coarse) return milliseconds(std::min<std::int64_t>(*coarse, kLongestWait.count() / 1000) * 1000);
  return kUsualWait;
}

}  // namespace millrace::cli
