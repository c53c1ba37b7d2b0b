#include "schemas/field.h"

#include <array>

#include <gtest/gtest.h>

namespace millrace::schemas::field_test {
namespace {

using schemas::Json;

struct Form {
  std::string word;
  int count = 5;
  bool flag = false;
  std::optional<base::WallTime> at;
};
template <auto Member>
constexpr auto into = &store_in<Form, Member>;

constexpr std::array<std::string_view, 2> kWords{"one", "two"};
constexpr std::array kTable{
    Field{.name = "word", .required = true, .choices = kWords, .store = into<&Form::word>},
    Field{.name = "count", .type = FieldType::kInteger, .min = 1, .max = 9, .store = into<&Form::count>},
    Field{.name = "flag", .type = FieldType::kBool, .store = into<&Form::flag>},
    Field{.name = "at", .type = FieldType::kTime, .store = into<&Form::at>},
};

TEST(FieldTable, AQueryBecomesTheRowsTypes) {
  Form form;
  const Problems problems = read_query(
      kTable,
      {{"word", "two"}, {"count", "7"}, {"flag", "true"}, {"at", "2025-01-31T08:00:00Z"}, {"else", "x"}},
      &form);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(form.word, "two");
  EXPECT_EQ(form.count, 7);
  EXPECT_TRUE(form.flag);
  EXPECT_EQ(base::rfc3339(*form.at), "2025-01-31T08:00:00.000Z");
}

TEST(FieldTable, AnEmptyQueryValueIsAbsent) {
  Form form;
  EXPECT_TRUE(read_query(kTable, {{"word", "one"}, {"count", ""}}, &form).empty());
  EXPECT_EQ(form.count, 5);
}

TEST(FieldTable, EveryProblemNamesPlaceTypeInputAndBound) {
  Form form;
  const Problems problems = read_query(kTable, {{"count", "10"}, {"flag", "x"}, {"at", "today"}}, &form);
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_EQ(problems[0].type, "missing");
  EXPECT_EQ(problems[0].loc, (std::vector<std::string>{"query", "word"}));
  EXPECT_EQ(problems[1].type, "less_than_equal");
  EXPECT_EQ(problems[1].input, "10");
  EXPECT_EQ(problems[1].ctx, R"({"le":9})");
  EXPECT_EQ(problems[2].type, "bool_type");
  EXPECT_EQ(problems[3].type, "datetime_parsing");
}

TEST(FieldTable, IntegersAreCheckedOverTheirWholeRange) {
  for (const char* bad : {"0", "10", "-1", "9223372036854775807", "99999999999999999999", "1.0", "x"}) {
    Form form;
    EXPECT_EQ(read_query(kTable, {{"word", "one"}, {"count", bad}}, &form).size(), 1u) << bad;
  }
}

TEST(FieldTable, ALongOffendingValueIsNotEchoed) {
  Form form;
  const Problems problems = read_query(kTable, {{"word", std::string(1000, 'x')}}, &form);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].input, "");
}

TEST(FieldTable, TheSameRowMakesTheSchema) {
  const Json schema = json_schema(kTable);
  EXPECT_EQ(schema["properties"]["word"], Json::parse(R"({"type":"string","enum":["one","two"]})"));
  EXPECT_EQ(schema["properties"]["count"],
            Json::parse(R"({"type":["integer","null"],"minimum":1,"maximum":9})"));
}

}  // namespace
}  // namespace millrace::schemas::field_test
