#include "schemas/batches/batch.h"

#include <gtest/gtest.h>

namespace millrace::schemas {
namespace {

constexpr std::string_view kChatPath = "/v1/chat/completions";

std::string code_of(std::string line, BatchShape shape = BatchShape::kOpenAi) {
  const auto read = parse_batch_line(line, shape, kChatPath, 7);
  if (read) return "good";
  EXPECT_EQ(read.error().line, 7);
  return read.error().code + " " + read.error().param;
}

std::string body_of(std::string line, BatchShape shape = BatchShape::kOpenAi) {
  const auto read = parse_batch_line(line, shape, kChatPath, 1);
  return read ? read->custom_id + " " + read->body : read.error().code;
}

TEST(BatchLines, ABodyIsKeptAsItWasSent) {
  EXPECT_EQ(
      body_of(R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"x": 1.50,"é":[ ]}})"),
      R"(a {"x": 1.50,"é":[ ]})");
  EXPECT_EQ(body_of(R"({"body":{"n":12345678901234567890123},"custom_id":"\u00e9"})", BatchShape::kMistral),
            R"(é {"n":12345678901234567890123})");
}

TEST(BatchLines, TheShapesDifferInWhatALineMustHave) {
  EXPECT_EQ(code_of(R"({"custom_id":"a","body":{}})"), "missing_required_parameter method");
  EXPECT_EQ(code_of(R"({"custom_id":"a","method":"POST","body":{}})"), "missing_required_parameter url");
  EXPECT_EQ(code_of(R"({"custom_id":"a","body":{}})", BatchShape::kMistral), "good");
  EXPECT_EQ(code_of(R"({"custom_id":"a","url":"/v1/ocr","body":{}})", BatchShape::kMistral),
            "mismatched_url url");
  EXPECT_EQ(code_of(R"({"custom_id":1,"body":{}})", BatchShape::kMistral),
            "missing_required_parameter custom_id");
}

TEST(BatchLines, WhatIsNoJsonObjectIsNamed) {
  for (const char* line :
       {"", "x", "[]", "1", R"({"custom_id":)", R"({"custom_id":"a"} {})", "{\"custom_id\":\"\xFF\"}"})
    EXPECT_EQ(code_of(line), "invalid_json ") << line;
}

TEST(BatchLines, ARequestGetsTheModelOfItsBatchUnlessItNamesOne) {
  EXPECT_EQ(batch_line_request(R"({"a":1})", "m", false), R"({"model":"m","a":1})");
  EXPECT_EQ(batch_line_request(R"( { } )", "m", true), R"({"model":"m","deferred":true  } )");
  EXPECT_EQ(batch_line_request(R"({"model":"x"})", "m", true), R"({"deferred":true,"model":"x"})");
  EXPECT_EQ(batch_line_request(R"({"deferred":false,"m\u006fdel":1})", "m", true),
            R"({"deferred":false,"m\u006fdel":1})");
  EXPECT_EQ(batch_line_request(R"({"a":1})", "", false), R"({"a":1})");
}

TEST(BatchLines, TheTokensOfEachShapeOfUsageAreCounted) {
  const BatchUsage chat = usage_of_reply(
      R"({"usage":{"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":1},"completion_tokens_details":{"reasoning_tokens":2}}})");
  EXPECT_EQ(chat.input_tokens, 3);
  EXPECT_EQ(chat.output_tokens, 4);
  EXPECT_EQ(chat.cached_tokens, 1);
  EXPECT_EQ(chat.reasoning_tokens, 2);
  EXPECT_EQ(usage_of_reply(R"({"usage":{"input_tokens":5,"output_tokens":6}})").input_tokens, 5);
  for (const char* body :
       {"", "x", R"("usage")", R"({"usage":3})", R"({"usage":{"prompt_tokens":-1,"completion_tokens":"x"}})"})
    EXPECT_EQ(usage_of_reply(body).input_tokens, 0) << body;
}

TEST(BatchRequests, AnAmountIsInDollars) {
  EXPECT_EQ(batch_cost_max("1.50"), 1'500'000'000);
  EXPECT_EQ(batch_cost_max("0"), 0);
  for (const char* text : {"", "x", "-1", "1.5 ", "nan", "inf", "1e30", "1,5"})
    EXPECT_FALSE(batch_cost_max(text)) << text;
}

TEST(BatchRequests, AMistralBatchHasOneInput) {
  const auto problem = [](std::string body) {
    const auto read = parse_mistral_batch_request(body);
    return read ? std::string() : read.error().error.param;
  };
  constexpr std::string_view kFile = R"("file-01932b6c-8a00-7000-8000-000000000001")";
  const std::string file = R"({"endpoint":"/v1/ocr","input_files":[)" + std::string(kFile) + "]}";
  EXPECT_EQ(problem(file), "");
  EXPECT_EQ(problem(R"({"endpoint":"/v1/ocr"})"), "input_files");
  EXPECT_EQ(problem(R"({"endpoint":"/v1/ocr","requests":[]})"), "requests");
  EXPECT_EQ(problem(R"({"endpoint":"/v1/ocr","requests":[{"custom_id":"a","body":{}}]})"), "");
  EXPECT_EQ(problem(R"({"endpoint":"/v1/ocr","requests":[1]})"), "requests.0");
  EXPECT_EQ(problem(R"({"endpoint":"/v1/ocr","input_files":["x"]})"), "input_files.0");
  EXPECT_EQ(problem(R"({"endpoint":"ocr","requests":[{"custom_id":"a","body":{}}]})"), "endpoint");
}

TEST(Batches, ErrorsSurviveTheStore) {
  const std::vector<BatchError> errors{{.code = "a", .message = "b \"c\"", .param = "d", .line = 3},
                                       {.code = "e", .message = "f"}};
  const auto read = batch_errors_from(batch_errors_json(errors));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].message, "b \"c\"");
  EXPECT_EQ(read[0].line, 3);
  EXPECT_EQ(read[0].param, "d");
  EXPECT_FALSE(read[1].line);
}

}  // namespace
}  // namespace millrace::schemas
