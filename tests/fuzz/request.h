#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "schemas/error_body.h"
#include "schemas/json/json_body.h"
#include "tests/fuzz/fuzz.h"

// Shared by the targets that read requests.
namespace millrace::schemas::fuzzing {

inline std::string padded(std::string_view text) {
  std::string body(text);
  body.reserve(body.size() + kJsonPadding);
  return body;
}

// A refusal says why, and can be sent in both formats.
inline void check_refusal(const Refusal& refusal) {
  using base::Code;
  const Code code = refusal.error.code;
  fuzz::require(code == Code::kBadRequest || code == Code::kInvalidField || code == Code::kModelNotFound,
                "a refusal is the client's mistake");
  fuzz::require(!refusal.error.message.empty(), "a refusal says why");
  for (const char* path : {"/v1/chat/completions", "/v1/machines"})
    fuzz::require(nlohmann::json::accept(error_body(path, refusal.error, refusal.problems).body),
                  "a refusal is JSON");
}

// Another JSON parser accepts what ours accepts, and reads the same.
inline void check_json(std::string_view sent) {
  std::string body = padded(sent);
  auto read = read_json(body);
  if (!read) return fuzz::require(!read.error().message.empty(), "a refusal says why");
  if (body.empty()) return;
  const nlohmann::json other = nlohmann::json::parse(sent, nullptr, false);
  fuzz::require(!other.is_discarded(), "what is accepted is JSON");
  fuzz::require(dump(whole(*std::move(read))).size() > 0, "a tree can be written");
}

}  // namespace millrace::schemas::fuzzing
