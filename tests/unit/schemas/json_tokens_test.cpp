#include <gtest/gtest.h>

#include "schemas/json/json_number.h"

namespace millrace::schemas::json_tokens_test {
namespace {

TEST(JsonTokens, AreCountedAsJsonWritesThem) {
  struct Row {
    std::string_view text;
    std::size_t tokens;
  };
  constexpr Row kRows[] = {
      {"", 0},          {" \t\r\n", 0},       {"0", 1},          {"-1.5e+3", 1},       {"true", 1},
      {"{}", 2},        {"[1,2]", 5},         {"[1 2]", 4},      {R"({"a":null})", 5}, {R"("a\"b")", 1},
      {R"("\\",1)", 3}, {R"(",:[]{}")", 1},   {R"("no end)", 1}, {"{,}", 3},           {R"(1"a")", 2},
      {"\xff\x80", 1},  {R"(["a", "b"])", 5}, {R"(\"[[[)", 4},   {R"(\\"a")", 2},      {"\\", 1},
  };
  for (const auto& [text, tokens] : kRows) {
    EXPECT_FALSE(more_json_tokens_than(tokens, text)) << text;
    if (tokens > 0) {
      EXPECT_TRUE(more_json_tokens_than(tokens - 1, text)) << text;
    }
  }
}

}  // namespace
}  // namespace millrace::schemas::json_tokens_test
