#include "schemas/json/json_body.h"

#include <limits>

#include <gtest/gtest.h>

namespace millrace::schemas::json_body_test {
namespace {

using schemas::Json;

base::Result<JsonBody> read(std::string text) { return read_json(text); }

std::string nested(int levels) {
  const auto count = static_cast<std::size_t>(levels - 1);
  std::string out = R"({"a":)";
  out.append(count, '[').append(count, ']');
  return out + "}";
}

TEST(JsonBody, AnEmptyBodyIsAnEmptyObject) { EXPECT_EQ(read("")->value, Json::object()); }

TEST(JsonBody, ReadsWhatIsJson) {
  const auto body = read(
      R"( {"a": [1, -2, 3.5, 18446744073709551615, true, false, null, {}], "b\u0041": "x\ny\/€\ud83d\ude00"} )");
  ASSERT_TRUE(body.has_value()) << body.error().message;
  EXPECT_EQ(body->value["a"], Json::parse("[1,-2,3.5,18446744073709551615,true,false,null,{}]"));
  EXPECT_EQ(body->value["bA"], "x\ny/€😀");
}

TEST(JsonBody, RefusesWhatIsNotAnObjectOfValidJson) {
  const std::string_view bad[] = {
      "{",
      "}",
      "[]",
      "1",
      "\"x\"",
      "null",
      "tru",
      "x",
      "{\"a\"}",
      "{\"a\":}",
      "{\"a\":1,}",
      "{,}",
      "{\"a\":1 \"b\":2}",
      "{\"a\":01}",
      "{\"a\":+1}",
      "{\"a\":.5}",
      "{\"a\":1.}",
      "{\"a\":1e}",
      "{\"a\":-}",
      "{\"a\":1e400.}",
      "{\"a\":00000000000000000000000000001}",
      "{\"a\":123456789012345678901234567890x}",
      "{\"a\":nul}",
      "{\"a\":truex}",
      "{\"a\":NaN}",
      "{\"a\":[1,]}",
      "{\"a\":[1}",
      "{\"a\":\"x}",
      "{a:1}",
      "{\"a\":1}}",
      "{\"a\":1} x",
      "{\"a\":1}{}",
      "{\"a\":\"\x01\"}",
      "{\"a\":\"\\x\"}",
      "{\"a\":\"\\u12\"}",
      "{\"a\":'x'}",
      "{\"a\":1/*c*/}",
  };
  for (std::string_view text : bad) {
    const auto body = read(std::string(text));
    ASSERT_FALSE(body.has_value()) << text;
    EXPECT_EQ(body.error().code, base::Code::kBadRequest) << text;
  }
}

TEST(JsonBody, SaysWhatIsThereInsteadOfAnObject) {
  const std::pair<std::string, std::string_view> rows[] = {
      {"null", "it must begin with {"},
      {" []", "it must begin with {"},
      {"  ", "only white space"},
      {"\xEF\xBB\xBF{}", "byte order mark"},
      {"{} x", "content after the object"},
      {R"({"a":"}\"","b":[{}]} x)", "content after the object"},
      {"{\"a\":1}{}", "content after the object"},
  };
  for (const auto& [text, said] : rows) {
    const auto body = read(text);
    ASSERT_FALSE(body.has_value()) << text;
    EXPECT_NE(body.error().message.find(said), std::string::npos) << text << body.error().message;
  }
  for (const char* open : {"{", R"({"a":"} x")", R"({"a":{} )"})
    EXPECT_EQ(read(open).error().message.find("after the object"), std::string::npos) << open;
}

TEST(JsonBody, TakesNumbersThatFitNoIntegerAndNoDouble) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  const auto body = read(
      R"({"a":1000000000000000000000000000000 ,"b":[-18446744073709551616,1e400, -1e400 ],"c":1e-400,"d":1})");
  ASSERT_TRUE(body.has_value()) << body.error().message;
  EXPECT_EQ(body->value["a"], Json(1e30));
  EXPECT_EQ(body->value["b"], Json({-18446744073709551616.0, kLargest, -kLargest}));
  EXPECT_EQ(body->value["c"], Json(0.0));
  EXPECT_EQ(body->value["d"], Json(1));
  EXPECT_EQ(read("{\"a\":1" + std::string(1'000'000, '0') + "}")->value["a"], Json(kLargest));
}

TEST(JsonBody, RefusesANumberThatWouldChangeByItsPlace) {
  const auto error_of = [](std::string body) {
    const auto read = read_json(body, kJsonValuesMax, Numbers::kExact);
    return read ? base::Error{} : read.error();
  };
  const std::vector<std::pair<std::string, std::string>> changed = {
      {R"({"a":1e400})", "a"},
      {R"({"a":[1,{"b":-1e999}]})", "a.1.b"},
      {R"({"tools":[{"x":12345678901234567890123}]})", "tools.0.x"},
      {R"({"a":-9223372036854775809 })", "a"},
  };
  for (const auto& [body, place] : changed) {
    const base::Error error = error_of(body);
    EXPECT_EQ(error.code, base::Code::kBadRequest) << body;
    EXPECT_EQ(error.message.substr(0, place.size() + 2), place + ": ") << error.message;
    EXPECT_EQ(error.param, place);
  }
  for (const char* kept :
       {R"({"a":18446744073709551615})", R"({"a":-9223372036854775808})", R"({"a":100000000000000000000})",
        R"({"a":0.12345678901234567890123})", R"({"a":1e300,"b":1e-400,"c":1.7976931348623157e308})"})
    EXPECT_EQ(error_of(kept).message, "") << kept;
}

TEST(JsonBody, NamesWhatIsWrongWithANumberThatWouldChange) {
  const auto error_of = [](std::string body) {
    const auto read = read_json(body, kJsonValuesMax, Numbers::kExact);
    return read ? std::string() : read.error().message;
  };
  const std::string digits(400, '1');
  for (const std::string& number : {std::string("1e400"), std::string("-1E+400"), digits}) {
    const std::string error = error_of(R"({"a":)" + number + "}");
    EXPECT_NE(error.find("is beyond the range of a double"), std::string::npos) << error;
    EXPECT_EQ(error.find("64 bits"), std::string::npos) << error;
  }
  const std::string integer = error_of(R"({"a":12345678901234567890123})");
  EXPECT_NE(integer.find("does not fit into 64 bits"), std::string::npos) << integer;
}

TEST(JsonBody, CutsAPlaceBetweenCharacters) {
  std::string key = "a";
  for (int i = 0; i < 40; ++i) key += "ü";
  std::string body = R"({")" + key + R"(":1e400})";
  const auto read = read_json(body, kJsonValuesMax, Numbers::kExact);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().param, key.substr(0, 63));
}

TEST(JsonBody, KeepsTheSpellingOfANumberThatWouldChange) {
  const std::string text = R"({"a":12345678901234567890123,"b":[1e400,-1E+400],"c":"x","d":1.5})";
  std::string body = text;
  auto read = read_json(body, kJsonValuesMax, Numbers::kSpelled);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(spelling_of(read->value["a"]), "12345678901234567890123");
  EXPECT_FALSE(read->text(read->value["a"]));
  Json tree = whole(*std::move(read));
  EXPECT_EQ(dump(tree), text);
  round_numbers(tree);
  EXPECT_EQ(tree["a"], Json(12345678901234567890123.0));
}

TEST(JsonBody, RefusesALoneSurrogateAndBytesThatAreNotUtf8) {
  EXPECT_FALSE(read(R"({"a":"\ud800"})").has_value());
  EXPECT_FALSE(read(R"({"a":"\udc00"})").has_value());
  EXPECT_FALSE(read(R"({"a":"\ud800x"})").has_value());
  EXPECT_FALSE(read(R"({"a":"\ud800A"})").has_value());
  EXPECT_FALSE(read(R"({"\udc00":1})").has_value());
  EXPECT_FALSE(read("{\"a\":\"\xff\"}").has_value());
  EXPECT_FALSE(read("{\"a\":\"\xed\xa0\x80\"}").has_value());
}

TEST(JsonBody, RefusesDuplicateKeysHoweverTheyAreWritten) {
  EXPECT_FALSE(read(R"({"a":1,"a":2})").has_value());
  EXPECT_FALSE(read(R"({"a":1,"\u0061":2})").has_value());
  EXPECT_TRUE(read(R"({"a":{"a":1}})").has_value());
}

TEST(JsonBody, Takes64LevelsAndNotOneMore) {
  EXPECT_TRUE(read(nested(kJsonDepthMax)).has_value());
  EXPECT_FALSE(read(nested(kJsonDepthMax + 1)).has_value());
  EXPECT_FALSE(read(nested(100'000)).has_value());
}

// {"a":[unit,unit,…]} with `values` values in total, including the array.
std::string listing(std::string_view unit, std::size_t values_per_unit, std::size_t values) {
  std::string out = R"({"a":[)";
  for (std::size_t i = 1; i < values; i += values_per_unit) out.append(i > 1 ? "," : "").append(unit);
  return out + "]}";
}

TEST(JsonBody, Takes100000ValuesAndNotOneMore) {
  struct Row {
    std::string_view unit;
    std::size_t values;
  };
  constexpr Row kRows[] = {
      {"0", 1},     {"{}", 1},   {"[]", 1},          {"\"\"", 1},           {"null", 1},
      {"[ 0 ]", 2}, {"[[]]", 2}, {R"({"a":{}})", 2}, {R"({"a":[1,2]})", 4},
  };
  for (const auto& [unit, values] : kRows) {
    const std::size_t most = (kJsonValuesMax - 1) / values * values + 1;
    EXPECT_TRUE(read(listing(unit, values, most)).has_value()) << unit;
    const auto more = read(listing(unit, values, most + values));
    ASSERT_FALSE(more.has_value()) << unit;
    EXPECT_EQ(more.error().code, base::Code::kBadRequest);
    EXPECT_NE(more.error().message.find("more than 100000 values"), std::string::npos)
        << more.error().message;
  }
}

TEST(JsonBody, SignsWithoutEndAreRefusedWithoutAnIndexOfThem) {
  for (const std::string_view unit : {",", ":", "[", "]", "}", "{", "0 ", "\"\"", "{},", "[0],"}) {
    std::string body = R"({"a":)";
    while (body.size() < 2'000'000) body += unit;
    const auto read = read_json(body);
    ASSERT_FALSE(read.has_value()) << unit;
    EXPECT_NE(read.error().message.find("values"), std::string::npos) << unit << read.error().message;
  }
}

TEST(JsonBody, WhatStandsInAStringIsNoValue) {
  std::string body = R"({"a":")";
  while (body.size() < 2'000'000) body += R"(,{}[]: \"\\)";
  EXPECT_TRUE(read(body + "\"}").has_value());
}

TEST(JsonBody, ALongStringIsNotCopied) {
  std::string text = R"({"long":")" + std::string(kLongString + 1, 'x') + R"(","short":"y"})";
  const auto body = read_json(text);
  ASSERT_TRUE(body.has_value());
  const auto view = body->text(body->value["long"]);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(*view, std::string(kLongString + 1, 'x'));
  EXPECT_GE(view->data(), text.data());
  EXPECT_LT(view->data(), text.data() + text.size());
  EXPECT_EQ(body->text(body->value["short"]), "y");
}

TEST(JsonBody, ALongStringWithEscapesIsUnescapedWhereItLies) {
  const std::string filler(kLongString, 'x');
  std::string text = R"({"a":")" + filler + R"(\/\u002b\"\\","b":")" + filler + R"(\\","c":1})";
  const auto body = read_json(text);
  ASSERT_TRUE(body.has_value()) << body.error().message;
  EXPECT_EQ(body->text(body->value["a"]), filler + "/+\"\\");
  EXPECT_EQ(body->text(body->value["b"]), filler + "\\");
  EXPECT_EQ(body->value["c"], 1);
  EXPECT_FALSE(read(R"({"a":")" + filler + R"(\ud800"})").has_value());
}

TEST(JsonBody, ALargeBodyIsReadAsASmallOne) {
  std::string text = R"({"a":")" + std::string(1 << 20, 'x') + R"(","n":[1,2,3]})";
  const auto body = read_json(text);
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(body->text(body->value["a"])->size(), std::size_t{1} << 20);
  EXPECT_EQ(body->value["n"].size(), 3u);
}

TEST(JsonBody, AgreesWithAnotherParserOnEveryTruncationAndEveryChangedByte) {
  const std::string good = R"({"a":[1,-2.5e3,"x\u00e9\n",{"b":null}],"c":{"d":true,"e":""}})";
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char c : {'"', '\\', '{', '}', '[', ']', ',', ':', '0', 'e', ' ', 'n', '\x80'}) {
      std::string changed = good;
      changed[i] = c;
      const Json other = Json::parse(changed, nullptr, false);
      const auto ours = read(changed);
      if (ours) {
        EXPECT_EQ(ours->value, other) << changed;
      } else if (!other.is_discarded() && other.is_object()) {
        EXPECT_NE(ours.error().message.find("twice"), std::string::npos) << changed << ours.error().message;
      }
    }
    EXPECT_FALSE(i > 0 && read(good.substr(0, i)).has_value()) << i;
  }
}

}  // namespace
}  // namespace millrace::schemas::json_body_test
