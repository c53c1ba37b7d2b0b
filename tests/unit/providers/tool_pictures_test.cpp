#include "ai/providers/tool_pictures.h"

#include <gtest/gtest.h>

#include "tests/unit/providers/family_cases.h"

namespace millrace::providers::tool_pictures_test {
namespace {

using schemas::Json;
using testing::target_of;

constexpr const char* kPicture = "data:image/png;base64,iVBORw0KGgoAAAAA";

schemas::ToolCall call(const std::string& id) { return {.id = id, .name = "look", .arguments = "{}"}; }

// The request of the second turn, after two calls of which the first has a picture.
Json body_of(const Target& target, const std::string& picture = kPicture) {
  schemas::ChatRequest request;
  request.body = {{"messages", {{{"role", "user"}, {"content", "look"}}}}};
  schemas::ChatChoice answer;
  answer.tool_calls = {call("call_0001"), call("call_0002")};
  schemas::append_turn(request, answer,
                       {{"call_0001", "[image: image/png, 12 bytes]", {picture}}, {"call_0002", "nothing"}});
  const auto wire = translation(target.preset->family).chat_request(target, request, false);
  EXPECT_TRUE(wire) << wire.error().message;
  const Json body = wire ? Json::parse(wire->body) : Json();
  EXPECT_EQ(std::string::npos, body.dump().find("millrace_")) << body;
  return body;
}

TEST(ToolPictures, OfTheOpenaiFamilyFollowTheResultsOfTheTurn) {
  for (const auto& [provider, model] :
       std::vector<std::pair<std::string, std::string>>{{"openai", "gpt-4o"},
                                                        {"azure", "mine"},
                                                        {"xai", "grok-4"},
                                                        {"groq", "meta-llama/llama-4-scout"},
                                                        {"vllm", "Qwen/Qwen3-VL-8B"},
                                                        {"openrouter", "anthropic/claude-sonnet-4.5"}}) {
    const Json messages = body_of(target_of(provider, model))["messages"];
    ASSERT_EQ(5u, messages.size()) << provider;
    EXPECT_EQ("[image: image/png, 12 bytes]", messages[2]["content"][0]["text"]) << provider;
    EXPECT_EQ(1u, messages[2]["content"].size()) << provider;
    EXPECT_EQ("nothing", messages[3]["content"]) << provider;
    EXPECT_EQ("user", messages[4]["role"]) << provider;
    EXPECT_EQ(kPicture, messages[4]["content"][1]["image_url"]["url"]) << provider;
  }
}

TEST(ToolPictures, OfAServerBehindProviderOpenaiGoOnlyToModelsThatSee) {
  Target target = target_of("openai", "deepseek-chat");
  EXPECT_EQ(5u, body_of(target)["messages"].size()) << "OpenAI's own models see";
  target.base_url = "https://inference.example/v1";
  EXPECT_EQ(4u, body_of(target)["messages"].size());
  target.model = "Qwen3-VL-8B";
  EXPECT_EQ(5u, body_of(target)["messages"].size());
  EXPECT_EQ(5u, body_of(target_of("openai", "gpt-4-1106-vision-preview"))["messages"].size());
  EXPECT_EQ(4u, body_of(target_of("azure", "gpt-35-turbo"))["messages"].size());
}

TEST(ToolPictures, OfTheOthersAreInTheResult) {
  const Json claude = body_of(target_of("anthropic", "claude-sonnet-4-5"))["messages"][2]["content"];
  EXPECT_EQ("image", claude[0]["content"][1]["type"]);
  EXPECT_EQ("image/png", claude[0]["content"][1]["source"]["media_type"]);
  const Json gemini = body_of(target_of("gemini", "gemini-2.5-flash"))["contents"][2]["parts"];
  EXPECT_TRUE(std::any_of(gemini.begin(), gemini.end(), [](const Json& part) {
    return part.contains("inlineData") && part["inlineData"]["mimeType"] == "image/png";
  })) << gemini;
  const Json mistral = body_of(target_of("mistral", "mistral-small-latest"))["messages"];
  EXPECT_EQ(4u, mistral.size());
  EXPECT_EQ(kPicture, mistral[2]["content"][1]["image_url"]["url"]);
}

TEST(ToolPictures, AreOnlyDescribedToModelsThatDoNotSee) {
  for (const auto& [provider, model] :
       std::vector<std::pair<std::string, std::string>>{{"openai", "gpt-3.5-turbo"},
                                                        {"openai", "o3-mini"},
                                                        {"xai", "grok-3"},
                                                        {"groq", "qwen3-32b"},
                                                        {"mistral", "codestral-latest"},
                                                        {"ollama", "llama3.2"}}) {
    const Json messages = body_of(target_of(provider, model))["messages"];
    ASSERT_EQ(4u, messages.size()) << provider;
    EXPECT_EQ("[image: image/png, 12 bytes]", messages[2]["content"]) << provider;
  }
}

TEST(ToolPictures, TheRowDecidesBeforeTheName) {
  Target target = target_of("ollama", "llama3.2");
  target.vision = true;
  EXPECT_EQ(5u, body_of(target)["messages"].size());
  target = target_of("anthropic", "claude-sonnet-4-5");
  target.vision = false;
  EXPECT_EQ("[image: image/png, 12 bytes]", body_of(target)["messages"][2]["content"][0]["content"]);
}

TEST(ToolPictures, OfATypeThatTheProviderDoesNotTakeAreOnlyDescribed) {
  EXPECT_EQ(4u, body_of(target_of("openai", "gpt-4o"), "data:image/bmp;base64,AAAA")["messages"].size());
}

TEST(ToolPictures, ImagesThatAClientSendsInAToolMessageAreMovedToo) {
  const Json call = {{"id", "c"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}};
  const Json part = {{"type", "image_url"}, {"image_url", {{"url", kPicture}}}};
  schemas::ChatRequest request;
  request.body = {{"messages",
                   {{{"role", "user"}, {"content", "u"}},
                    {{"role", "assistant"}, {"tool_calls", {call}}},
                    {{"role", "tool"}, {"tool_call_id", "c"}, {"content", Json::array({part})}},
                    {{"role", "user"}, {"content", "and?"}}}}};
  const auto wire = openai_request(target_of("openai", "gpt-4o"), request, false);
  ASSERT_TRUE(wire);
  const Json messages = Json::parse(wire->body)["messages"];
  ASSERT_EQ(5u, messages.size());
  EXPECT_EQ(Json::parse(R"([{"type": "text", "text": "[image]"}])"), messages[2]["content"]);
  EXPECT_EQ(part, messages[3]["content"][1]);
  EXPECT_EQ("and?", messages[4]["content"]);
}

}  // namespace
}  // namespace millrace::providers::tool_pictures_test
