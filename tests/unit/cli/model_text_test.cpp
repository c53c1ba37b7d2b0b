#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/cli/chat/models_command.h"

namespace millrace::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const json kModel = json::parse(R"({"id": "openai/gpt", "provider": "openai", "display_name": "GPT",
  "created": 1, "capabilities": {"chat": true, "embeddings": false, "images": true}})");

TEST(ModelText, ARowSaysWhatAModelDoes) {
  EXPECT_THAT(model_row(kModel), testing::EndsWith("openai        chat, images"));
  EXPECT_EQ(model_header().find("CAPABILITIES"), model_row(kModel).find("chat"));
}

TEST(ModelText, ASecondNameOfAModelIsMarkedAsAnAlias) {
  json model = kModel;
  model["alias_of"] = "millrace/ocr";
  EXPECT_THAT(model_row(model), testing::EndsWith("chat, images (alias of millrace/ocr)"));
}

TEST(ModelText, OneModelIsALinePerField) {
  EXPECT_THAT(model_text(kModel), testing::StartsWith("id             openai/gpt\n"));
  EXPECT_THAT(model_text(kModel), HasSubstr("capabilities   chat, images\n"));
}

TEST(ModelText, OnlyAYesIsACapability) {
  EXPECT_TRUE(can(kModel, "chat"));
  EXPECT_FALSE(can(kModel, "embeddings") || can(kModel, "audio") || can(json::object(), "chat"));
}

TEST(ModelText, TheChoiceIsNamedAndALongOneCutShort) {
  EXPECT_THAT(choice_text({"a", "b"}, {}),
              testing::StartsWith("millrace: choose a model with --model; there are a, b\n"));
  EXPECT_THAT(choice_text({"a", "b"}, {}), HasSubstr(" models ls` describes"));
  EXPECT_THAT(choice_text(std::vector<std::string>(25, "m"), {}), HasSubstr("and 5 more"));
}

TEST(ModelText, WhereThereIsNoneAKeyAndTheEchoAreNamed) {
  EXPECT_THAT(choice_text({}, {}), testing::AllOf(HasSubstr("OPENAI_API_KEY"), HasSubstr("--mock true")));
}

TEST(ModelText, TheListThatIsAdvisedIsThatOfTheGatewayThatWasAsked) {
  ClientOptions elsewhere;
  elsewhere.url = "http://box:9";
  EXPECT_THAT(models_advice(elsewhere), HasSubstr(" models ls --url http://box:9` lists"));
  EXPECT_THAT(models_advice({}), testing::AllOf(HasSubstr(" models ls` lists"), HasSubstr("mock/chat")));
}

}  // namespace
}  // namespace millrace::cli
