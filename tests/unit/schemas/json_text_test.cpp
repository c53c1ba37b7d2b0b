#include "schemas/json/json_text.h"

#include <gtest/gtest.h>

namespace millrace::schemas::json_text_test {
namespace {

std::string as_json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(JsonText, FindsWhatNeedsAnEscapeAtEveryPlaceOfATextOfEveryLength) {
  for (std::size_t size = 0; size <= 40; ++size) {
    const std::string plain(size, 'a');
    EXPECT_EQ(as_json(plain), '"' + plain + '"');
    for (std::size_t at = 0; at < size; ++at) {
      for (const char special : {'"', '\\', '\n', '\x01', '\x1f'}) {
        std::string text = plain;
        text[at] = special;
        EXPECT_EQ(as_json(text), schemas::Json(text).dump()) << size << ' ' << at;
      }
    }
  }
  EXPECT_EQ(as_json({}), R"("")");
  EXPECT_EQ(as_json("ü\x7f"), "\"ü\x7f\"");
}

TEST(JsonText, WritesMembersInTheOrderOfTheCalls) {
  JsonObject out;
  out.member("b", "x\"y").number("a", -7).flag("c", false).raw("d", "[1]");
  out.value("e").append("{}");
  EXPECT_EQ(out.finish(), R"({"b":"x\"y","a":-7,"c":false,"d":[1],"e":{}})");
  EXPECT_EQ(JsonObject().finish(), "{}");
}

TEST(JsonText, ANameCannotEndItsQuotes) {
  JsonObject out;
  out.member("a\":1,\"b", "x").number("c\n", 1).flag("d\\", true).raw("", "[]");
  EXPECT_EQ(out.finish(), R"({"a\":1,\"b":"x","c\n":1,"d\\":true,"":[]})");
}

}  // namespace
}  // namespace millrace::schemas::json_text_test
