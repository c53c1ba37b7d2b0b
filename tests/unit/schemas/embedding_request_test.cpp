#include <gtest/gtest.h>

#include "schemas/chat/chat_reply.h"
#include "schemas/chat/embedding.h"

namespace millrace::schemas::embedding_request_test {
namespace {

using schemas::Json;
using Parsed = tl::expected<EmbeddingRequest, Refusal>;

Parsed parse(const Json& input, const Json& more = Json::object()) {
  Json body = {{"model", "m"}, {"input", input}};
  body.update(more);
  std::string text = body.dump();
  return parse_embedding_request(text);
}

// The dotted path of the first problem; empty: the request is valid.
std::string wrong(const Parsed& parsed) {
  if (parsed) return "";
  if (parsed.error().problems.empty()) return "no problem is named";
  std::string out;
  for (const std::string& each : parsed.error().problems.front().loc)
    out.append(out.empty() ? "" : ".").append(each);
  return out;
}

// `count` words of one token each.
std::string words(std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += i == 0 ? "word" : " word";
  return text;
}

Json tokens(std::size_t count) { return Json(std::vector<int>(count, 7)); }

TEST(EmbeddingRequest, EachOfTheFourFormsBecomesAList) {
  EXPECT_EQ(parse("one")->texts, std::vector<std::string>{"one"});
  EXPECT_EQ(parse({"one", "two"})->texts, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(parse({1, 2, 3})->tokens, (std::vector<std::vector<std::int32_t>>{{1, 2, 3}}));
  EXPECT_EQ(parse({{1, 2}, {3}})->tokens, (std::vector<std::vector<std::int32_t>>{{1, 2}, {3}}));
}

TEST(EmbeddingRequest, TheOtherParametersAreTakenAndUnknownOnesKept) {
  const Parsed parsed = parse("one", {{"encoding_format", "base64"},
                                      {"dimensions", 3},
                                      {"user", "u"},
                                      {"truncate", {{"a", 1}}},
                                      {"x", nullptr}});
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->base64);
  EXPECT_EQ(parsed->dimensions, 3);
  EXPECT_EQ(parsed->user, "u");
  EXPECT_EQ(parsed->extra, (Json{{"truncate", {{"a", 1}}}}));
}

TEST(EmbeddingRequest, ALongTextIsWhole) {
  const std::string text = words(4'000);
  EXPECT_EQ(parse({"short", text})->texts[1], text);
}

TEST(EmbeddingRequest, WhatIsEmptyIsRefusedWhereItStands) {
  EXPECT_EQ(wrong(parse("")), "body.input");
  EXPECT_EQ(wrong(parse(Json::array())), "body.input");
  EXPECT_EQ(wrong(parse({"one", ""})), "body.input.1");
  EXPECT_EQ(wrong(parse({Json::array({1}), Json::array()})), "body.input.1");
  EXPECT_EQ(wrong(parse(nullptr)), "body.input");
}

TEST(EmbeddingRequest, FormsAreNotMixed) {
  EXPECT_EQ(wrong(parse({"one", 2})), "body.input.1");
  EXPECT_EQ(wrong(parse({1, "two"})), "body.input.1");
  EXPECT_EQ(wrong(parse({{1}, "two"})), "body.input.1");
  EXPECT_EQ(wrong(parse({{1, -2}})), "body.input.0.1");
  EXPECT_EQ(wrong(parse({1.5})), "body.input.0");
  EXPECT_EQ(wrong(parse(true)), "body.input");
}

TEST(EmbeddingRequest, ThereAreAtMost2048Inputs) {
  EXPECT_EQ(wrong(parse(Json(std::vector<std::string>(2048, "a")))), "");
  EXPECT_EQ(wrong(parse(Json(std::vector<std::string>(2049, "a")))), "body.input");
  EXPECT_EQ(wrong(parse(Json(std::vector<std::vector<int>>(2049, {1})))), "body.input");
}

TEST(EmbeddingRequest, AnInputHasAtMost8192TokensForCertainOrByTheirCount) {
  EXPECT_EQ(wrong(parse(words(8192))), "");
  EXPECT_EQ(wrong(parse(words(8193))), "body.input");
  EXPECT_EQ(wrong(parse({"a", words(8193)})), "body.input.1");
  EXPECT_EQ(wrong(parse(Json::array({tokens(8192)}))), "");
  EXPECT_EQ(wrong(parse(Json::array({tokens(8193)}))), "body.input.0");
}

// Each text has less than 8,192 tokens in cl100k_base, all together less than 300,000 (chat_tokens_test.cpp).
TEST(EmbeddingRequest, ATextThatFitsIsNotRefusedHoweverManyTokensAnEstimateGivesIt) {
  const auto many = [](std::string_view unit, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += unit;
    return text;
  };
  const std::vector<std::string> texts{
      many("Мельница мелет зерно, и вода течёт по жёлобу. ", 320),
      many("水车磨谷物，水沿着水槽流下。人们每天早上来这里取面粉。", 220),
      many("| name | value | unit |\n| --- | --- | --- |\n| speed | 12 | m/s |\n", 340),
      many("for (int i = 0; i < n; ++i) {\n    if (a[i] != NULL && b->next == 0) return -1;\n}\n", 220),
      many("1.2 Introduction .......................................................... 17\n", 800),
      std::string(500'000, '-')};
  for (const std::string& text : texts) EXPECT_EQ(wrong(parse(text)), "") << text.substr(0, 60);
  EXPECT_EQ(wrong(parse(Json(std::vector<std::string>(37, texts.front())))), "");
  EXPECT_GT(parse(texts.front())->input_tokens, 7'000);
}

TEST(EmbeddingRequest, AllInputsHaveAtMost300000Tokens) {
  std::vector<std::vector<int>> lists(36, std::vector<int>(8192, 1));
  lists.emplace_back(300'000 - 36 * 8192, 1);
  EXPECT_EQ(wrong(parse(lists)), "");
  EXPECT_EQ(parse(lists)->input_tokens, 300'000);
  lists.back().push_back(1);
  EXPECT_EQ(wrong(parse(lists)), "body.input");
  EXPECT_EQ(wrong(parse(Json(std::vector<std::string>(100, words(3'001))))), "body.input");
}

TEST(EmbeddingRequest, ManyMoreTokensThanMayBeAreRefusedInTheSameWay) {
  EXPECT_EQ(wrong(parse(std::vector<std::vector<int>>(100, std::vector<int>(8192, 1)))), "body.input");
}

TEST(EmbeddingRequest, DimensionsAreAtLeastOneAndTheEncodingIsKnown) {
  EXPECT_EQ(wrong(parse("a", {{"dimensions", 0}})), "body.dimensions");
  EXPECT_EQ(wrong(parse("a", {{"dimensions", 1.5}})), "body.dimensions");
  EXPECT_EQ(wrong(parse("a", {{"encoding_format", "hex"}})), "body.encoding_format");
  EXPECT_EQ(wrong(parse("a", {{"encoding_format", nullptr}, {"dimensions", nullptr}})), "");
}

TEST(EmbeddingRequest, AModelIsRequired) {
  std::string body = R"({"input": "a"})";
  EXPECT_EQ(wrong(parse_embedding_request(body)), "body.model");
}

TEST(EmbeddingRequest, ABrokenBodyIsNoFieldProblem) {
  std::string body = R"({"input": )";
  EXPECT_EQ(parse_embedding_request(body).error().error.code, base::Code::kBadRequest);
}

}  // namespace
}  // namespace millrace::schemas::embedding_request_test
