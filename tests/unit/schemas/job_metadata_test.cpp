#include "schemas/jobs/job_metadata.h"

#include <array>

#include <gtest/gtest.h>

namespace millrace::schemas {
namespace {

struct MetadataAnswer {
  std::string text;
  Problems problems;
};

MetadataAnswer read_text(const std::string& text) {
  JsonBody body;
  FieldReader reader("body", body);
  const Metadata metadata = read_metadata(reader, Json::parse(text));
  return {metadata_json(metadata), reader.problems()};
}

TEST(JobMetadata, AnObjectOfTextsIsKept) {
  EXPECT_EQ(read_text(R"({"batch":"b7","owner":"Müller"})").text, R"({"batch":"b7","owner":"Müller"})");
  EXPECT_EQ(read_text("{}").text, "");
  EXPECT_EQ(read_text(R"({"empty":""})").text, R"({"empty":""})");
}

TEST(JobMetadata, AnythingElseIsAProblem) {
  const std::string key(65, 'k'), value(513, 'v');
  std::string many;
  for (int i = 0; i < 17; ++i) many += (many.empty() ? "{" : ",") + ("\"k" + std::to_string(i)) + "\":\"v\"";
  for (const std::string& text :
       {std::string("[]"), std::string(R"("x")"), std::string(R"({"a":1})"), std::string(R"({"a":{}})"),
        R"({")" + key + R"(":"v"})", R"({"k":")" + value + R"("})", many + "}"})
    EXPECT_FALSE(read_text(text).problems.empty()) << text;
  EXPECT_TRUE(read_text(R"({"k":")" + std::string(512, 'v') + R"("})").problems.empty());
}

TEST(JobMetadata, AJobMatchesIfItHasAllPairs) {
  const std::string stored = R"({"batch":"b7","owner":"me"})";
  EXPECT_TRUE(has_all(stored, {}));
  EXPECT_TRUE(has_all("", {}));
  EXPECT_TRUE(has_all(stored, {{"batch", "b7"}}));
  EXPECT_TRUE(has_all(stored, {{"owner", "me"}, {"batch", "b7"}}));
  EXPECT_FALSE(has_all(stored, {{"owner", "me"}, {"batch", "b8"}}));
  EXPECT_FALSE(has_all(stored, {{"b7", "batch"}}));
  EXPECT_FALSE(has_all("", {{"batch", "b7"}}));
  EXPECT_FALSE(has_all("damaged", {{"batch", "b7"}}));
}

TEST(QueryFields, NamesThatHaveNoRowAreProblemsWithTheNearestName) {
  const std::array table{Field{.name = "status"}, Field{.name = "metadata", .type = FieldType::kAnyObject}};
  const QueryPairs pairs{{"statuss", "failed"}, {"status", "failed"}, {"statuss", "x"},
                         {"metadata.a.b", ""},  {"m.a", ""},          {"", ""}};
  const auto names = unknown_names(table, pairs);
  EXPECT_EQ(names, (std::vector<std::string>{"statuss", "m.a", ""}));
  const Problems problems = unknown_parameters(table, names);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].msg, "There is no such parameter; did you mean `status`?");
  EXPECT_EQ(problems[0].loc, (std::vector<std::string>{"query", "statuss"}));
  EXPECT_EQ(problems[1].msg, "There is no such parameter");
  EXPECT_EQ(problems[2].msg, "A parameter has no name before its `=`");
  EXPECT_EQ(unknown_parameters(table, std::vector<std::string>(100, "x")).size(), 32u);
  EXPECT_EQ(unknown_parameters(table, {std::string(63, 'x') + "é"})[0].loc[1], std::string(63, 'x'))
      << "cut at a character";
}

TEST(QueryFields, NamesThatAreSentTwiceAreProblemsOnceEach) {
  const QueryPairs pairs{{"a", "1"}, {"b", "1"}, {"a", "1"}, {"a", "2"}, {"m.x", "1"}, {"m.x", ""}};
  const auto names = repeated_names(pairs);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "m.x"}));
  const Problems problems = repeated_parameters(names);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].loc, (std::vector<std::string>{"query", "a"}));
  EXPECT_EQ(problems[0].msg, "The parameter is sent more than once; send it once");
}

TEST(FormFields, AFieldThatIsSentTwiceIsNamedAndItsLastValueCounts) {
  struct Form {
    std::string a;
  };
  const std::array table{Field{.name = "a", .store = &store_in<Form, &Form::a>}};
  Form form;
  std::vector<std::string> unknown;
  EXPECT_TRUE(read_form(table, {{"a", "1"}, {"a", "2"}}, &form, unknown).empty());
  EXPECT_EQ(form.a, "2");
  EXPECT_EQ(unknown, (std::vector<std::string>{"a"}));
}

}  // namespace
}  // namespace millrace::schemas
