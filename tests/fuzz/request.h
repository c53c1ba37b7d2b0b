#pragma once
#include <string>
#include <string_view>

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
    fuzz::require(schemas::Json::accept(error_body(path, refusal.error, refusal.problems).body),
                  "a refusal is JSON");
}

// What is accepted is JSON: another parser accepts it when it is written again, and ours reads the same.
inline void check_json(std::string_view sent) {
  std::string body = padded(sent);
  auto read = read_json(body);
  if (!read) return fuzz::require(!read.error().message.empty(), "a refusal says why");
  const schemas::Json tree = whole(*std::move(read));
  std::string written = padded(dump(tree));
  fuzz::require(schemas::Json::parse(written, nullptr, false) == tree, "another parser reads the same");
  auto again = read_json(written);
  fuzz::require(again && whole(*std::move(again)) == tree, "what is accepted is accepted again");
}

}  // namespace millrace::schemas::fuzzing
