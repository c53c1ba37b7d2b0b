#include <gtest/gtest.h>

#include "ai/inference/mcp/messages.h"
#include "ai/providers/json_access.h"

namespace millrace::inference {
namespace {

using schemas::Json;

constexpr std::size_t kTextMost = 1000;

std::string text_of_result(const std::string& result) {
  const auto outcome = read_mcp_outcome(providers::parse_wire(result).value(), kTextMost);
  EXPECT_TRUE(outcome) << result;
  return outcome ? outcome->text : std::string();
}

TEST(McpResult, StructuredContentWithALargeNumberIsNotRepeated) {
  for (const char* number : {"12345678901234567890123", "1.5", "18446744073709551615", "-1"}) {
    const std::string object = R"({"sum":)" + std::string(number) + "}";
    const Json text = {{"type", "text"}, {"text", object}};
    EXPECT_EQ(object,
              text_of_result(R"({"content":[)" + text.dump() + R"(],"structuredContent":)" + object + "}"));
  }
}

TEST(McpResult, TextsKeepTheirOrder) {
  EXPECT_EQ("one\ntwo",
            text_of_result(R"({"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]})"));
}

TEST(McpResult, TheTextOfAResourceIsPassedOn) {
  EXPECT_EQ("inside",
            text_of_result(R"({"content":[{"type":"resource","resource":{"uri":"x:1","text":"inside"}}]})"));
}

TEST(McpResult, WhatIsNoTextIsDescribed) {
  EXPECT_EQ("[image: image/png, 4 bytes]",
            text_of_result(R"({"content":[{"type":"image","mimeType":"image/png","data":"aGVsbA=="}]})"));
  EXPECT_EQ(
      "[resource x:1: application/gzip, 3 bytes]",
      text_of_result(
          R"({"content":[{"type":"resource","resource":{"uri":"x:1","mimeType":"application/gzip","blob":"YWJj"}}]})"));
  EXPECT_EQ("[resource x:2: a file]",
            text_of_result(R"({"content":[{"type":"resource_link","uri":"x:2","name":"a file"}]})"));
  EXPECT_EQ("[content of type hologram]\n[content without a type]",
            text_of_result(R"({"content":[{"type":"hologram"},"what"]})"));
}

TEST(McpResult, ItsImagesArePicturesWithTheTypeOfTheirBytes) {
  const std::string png = "iVBORw0KGgoAAAAA";
  const Json blocks = {{{"type", "image"}, {"mimeType", "image/jpeg"}, {"data", png}},
                       {{"type", "resource"}, {"resource", {{"uri", "x:1"}, {"blob", png}}}},
                       {{"type", "image"}, {"mimeType", "image/png"}, {"data", "bm90IGFuIGltYWdl"}},
                       {{"type", "image"}, {"mimeType", "image/png"}, {"data", png + "!"}},
                       {{"type", "image"}, {"mimeType", "image/png"}, {"data", 3}},
                       {{"type", "image"}},
                       {{"type", "audio"}, {"data", png}},
                       {{"type", "resource"}, {"resource", png}}};
  const auto outcome = read_mcp_outcome({{"content", blocks}}, kTextMost);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(std::vector<std::string>(2, "data:image/png;base64," + png), outcome->pictures);
  EXPECT_NE(std::string::npos, outcome->text.find("[image: image/jpeg, 12 bytes]"));
  const std::vector<Json> many(kMcpPicturesMax + 4, blocks[0]);
  EXPECT_EQ(kMcpPicturesMax, read_mcp_outcome({{"content", many}}, kTextMost)->pictures.size());
}

TEST(McpResult, StructuredContentIsPassedOnUnlessATextIsTheSame) {
  EXPECT_EQ(R"({"sum":3})", text_of_result(R"({"content":[],"structuredContent":{"sum":3}})"));
  EXPECT_EQ("three\n{\"sum\":3}",
            text_of_result(R"({"content":[{"type":"text","text":"three"}],"structuredContent":{"sum":3}})"));
  EXPECT_EQ("{ \"sum\": 3 }",
            text_of_result(
                R"({"content":[{"type":"text","text":"{ \"sum\": 3 }"}],"structuredContent":{"sum":3}})"));
}

TEST(McpResult, AnErrorOfTheToolIsKept) {
  const auto outcome = read_mcp_outcome(Json::parse(R"({"content":[],"isError":true})"), kTextMost);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->is_error);
  EXPECT_EQ("", outcome->text);
}

TEST(McpResult, ALongResultIsCutBetweenCharactersAndMarked) {
  std::string text(kTextMost - 1, 'a');
  text += "\xC3\xBC and more";
  const Json result{{"content", {{{"type", "text"}, {"text", text}}}}};
  const auto outcome = read_mcp_outcome(result, kTextMost);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(std::string(kTextMost - 1, 'a') + "\n[cut here: the first 999 of 1010 bytes]", outcome->text);
}

TEST(McpResult, AQuestionBackIsAnError) {
  const auto outcome =
      read_mcp_outcome(Json::parse(R"({"resultType":"input_required","inputRequests":{}})"), kTextMost);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(base::Code::kUpstream, outcome.error().code);
  EXPECT_NE(std::string::npos, outcome.error().message.find("input_required"));
  EXPECT_FALSE(read_mcp_outcome(Json::parse(R"({"resultType":"later"})"), kTextMost));
  EXPECT_TRUE(read_mcp_outcome(Json::parse(R"({"resultType":"complete"})"), kTextMost));
}

}  // namespace
}  // namespace millrace::inference
