#include <gtest/gtest.h>

#include "ai/providers/gemini/schema.h"
#include "tests/unit/providers/family_cases.h"

// What passes through keeps the order of its members, in requests and in replies (ADR 48).
namespace millrace::providers::order_test {
namespace {

using testing::read_stream;
using testing::target_of;

constexpr std::string_view kProperties =
    R"({"reasoning":{"type":"string"},"evidence":{"type":"array","items":{"type":"object","properties":)"
    R"({"z":{"type":"number"},"a":{"type":"string"}}}},"answer":{"type":"boolean"}})";
constexpr std::string_view kArguments = R"({"zone":{"y":1,"x":[{"b":1,"a":2}]},"area":"m"})";

std::string with_properties() {
  return R"({"type":"object","properties":)" + std::string(kProperties) + R"(,"required":["reasoning"]})";
}
std::string in_json(std::string_view text) { return schemas::Json(text).dump(); }

Target target_in(std::string_view provider) {
  Target target = target_of(provider, provider == "anthropic" ? "claude-sonnet-4-5"
                                      : provider == "gemini"  ? "gemini-3-pro"
                                                              : "some-model");
  target.response_format = true;
  return target;
}

class Order : public ::testing::TestWithParam<std::string_view> {
 protected:
  void expect_sent(const std::string& body, std::string_view expected) const {
    for (const bool stream : {false, true}) {
      const std::string wire = sent(target_, body, stream).body;
      EXPECT_NE(wire.find(expected), std::string::npos) << GetParam() << ": " << wire;
    }
  }
  static WireRequest sent(const Target& target, const std::string& body, bool stream) {
    return testing::sent(target, body, stream);
  }
  bool is(std::string_view provider) const { return GetParam() == provider; }

  const Target target_ = target_in(GetParam());
};

TEST_P(Order, ToolsKeepIt) {
  expect_sent(
      R"({"tools":[{"type":"function","function":{"name":"f","parameters":)" + with_properties() + "}}]}",
      is("gemini") ? R"("properties":{"reasoning":)" : kProperties);
}

TEST_P(Order, TheFormatOfTheReplyKeepsIt) {
  expect_sent(R"({"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":)" +
                  with_properties() + "}}}",
              is("gemini") || is("anthropic") ? R"("properties":{"reasoning":)" : kProperties);
}

TEST_P(Order, ArgumentsOfEarlierCallsKeepIt) {
  const std::string arguments = in_json(kArguments);
  const bool is_text = !is("anthropic") && !is("gemini");
  expect_sent(R"({"messages":[{"role":"user","content":"u"},{"role":"assistant","tool_calls":[{"id":"c",)"
              R"("type":"function","function":{"name":"f","arguments":)" +
                  arguments + R"(}}]},{"role":"tool","tool_call_id":"c","content":)" + arguments + "}]}",
              is_text ? std::string_view(arguments) : kArguments);
}

TEST_P(Order, UnknownMembersKeepIt) {
  if (is("anthropic") || is("gemini")) return;
  expect_sent(R"({"nobody_knows":)" + std::string(kArguments) + "}", kArguments);
  expect_sent(R"({"zeta":1,"alpha":2})", R"("zeta":1,"alpha":2)");
}

INSTANTIATE_TEST_SUITE_P(Families, Order,
                         ::testing::Values("openai", "azure", "xai", "mistral", "groq", "ollama", "vllm",
                                           "openrouter", "anthropic", "gemini"));

std::string_view parameters_of(const std::string& wire) {
  return std::string_view(wire).substr(wire.find(R"("functionDeclarations")"));
}

TEST(GeminiOrder, EachObjectWithSeveralPropertiesNamesIt) {
  const Target model = target_in("gemini");
  const std::string tools =
      R"({"tools":[{"type":"function","function":{"name":"f","parameters":)" + with_properties() + "}}]}";
  const std::string wire = testing::sent(model, tools).body;
  EXPECT_NE(wire.find(R"("propertyOrdering":["reasoning","evidence","answer"])"), std::string::npos) << wire;
  EXPECT_NE(wire.find(R"("propertyOrdering":["z","a"])"), std::string::npos) << wire;
  const std::string format =
      R"({"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":)" + with_properties() +
      "}}}";
  const schemas::Json schema = testing::sent_of(model, format)["generationConfig"]["responseJsonSchema"];
  EXPECT_EQ(schema["propertyOrdering"].dump(), R"(["reasoning","evidence","answer"])");
  EXPECT_EQ(schema["properties"]["evidence"]["items"]["propertyOrdering"].dump(), R"(["z","a"])");
}

TEST(GeminiOrder, ThatOfTheCallerIsKept) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"propertyOrdering":["b","a"]})";
  const Target model = target_in("gemini");
  for (const std::string& body :
       {R"({"tools":[{"type":"function","function":{"name":"f","parameters":)" + schema + "}}]}",
        R"({"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":)" + schema + "}}}"}) {
    const std::string wire = testing::sent(model, body).body;
    EXPECT_NE(wire.find(R"("propertyOrdering":["b","a"])"), std::string::npos) << wire;
    EXPECT_EQ(wire.find(R"("propertyOrdering":["a","b"])"), std::string::npos) << wire;
  }
}

// A property, a definition and a default with the name of a keyword are no schemas.
TEST(GeminiOrder, OnlySchemasGetIt) {
  const schemas::Json format = schemas::Json::parse(
      R"({"type":"object","properties":{"properties":{"type":"object","default":{"properties":{"p":1,"q":2}}}},)"
      R"("$defs":{"items":{"anyOf":[{"type":"object","properties":{"d":true,"c":{"type":"null"}}}]}}})");
  schemas::Json expected = format;
  expected["properties"]["properties"].erase("default");
  schemas::Json& inner = expected["$defs"]["items"]["anyOf"][0];
  inner["properties"]["d"] = schemas::Json::object();
  inner["propertyOrdering"] = {"d", "c"};
  EXPECT_EQ(gemini_answer_schema(format).schema, expected);
  for (const char* odd : {"1", "[]", "null", R"({"properties":7})"})
    EXPECT_EQ(gemini_answer_schema(schemas::Json::parse(odd)).schema, schemas::Json::object()) << odd;
}

TEST(GeminiOrder, MergedPartsAreInTheOrderOfTheText) {
  const std::string wire =
      testing::sent(target_in("gemini"), R"({"tools":[{"type":"function","function":{"name":"f",
      "parameters":{"$defs":{"Base":{"properties":{"z":{"type":"string"},"y":{"type":"string"}}}},
      "allOf":[{"$ref":"#/$defs/Base"},{"properties":{"b":{"type":"string"}},"propertyOrdering":["b"]}],
      "properties":{"a":{"type":"string"}}}}}]})")
          .body;
  EXPECT_NE(parameters_of(wire).find(R"("propertyOrdering":["z","y","b","a"])"), std::string::npos) << wire;
}

std::string arguments_of(Family family, std::string_view provider, const std::string& body) {
  const auto reply = translation(family).chat_reply(target_in(provider), body);
  EXPECT_TRUE(reply.has_value()) << body;
  return reply ? reply->choices.at(0).tool_calls.at(0).arguments : std::string();
}

std::string streamed_arguments(std::string_view provider, const std::string& bytes) {
  std::string arguments;
  for (const schemas::ChatPiece& piece : read_stream(target_in(provider), bytes).pieces)
    for (const schemas::ToolCallPiece& call : piece.tool_calls) arguments += call.arguments;
  return arguments;
}

TEST(ReplyOrder, ArgumentsOfCallsKeepIt) {
  const std::string arguments(kArguments);
  const std::string call =
      R"({"id":"c","type":"function","function":{"name":"f","arguments":)" + in_json(kArguments) + "}}";
  EXPECT_EQ(
      arguments_of(Family::kOpenai, "openai",
                   R"({"choices":[{"message":{"tool_calls":[)" + call + R"(]},"finish_reason":"stop"}]})"),
      arguments);
  const std::string use = R"({"type":"tool_use","id":"c","name":"f","input":)";
  EXPECT_EQ(arguments_of(Family::kAnthropic, "anthropic",
                         R"({"id":"m","role":"assistant","content":[)" + use + arguments +
                             R"(}],"stop_reason":"tool_use"})"),
            arguments);
  const std::string gemini = R"({"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":)" +
                             arguments + R"(}}]},"finishReason":"STOP"}]})";
  EXPECT_EQ(arguments_of(Family::kGemini, "gemini", gemini), arguments);
  EXPECT_EQ(streamed_arguments("gemini", "data: " + gemini + "\n\n"), arguments);
  EXPECT_EQ(
      streamed_arguments("anthropic", R"(data: {"type":"message_start","message":{"id":"m"}})"
                                      "\n\n"
                                      R"(data: {"type":"content_block_start","index":0,"content_block":)" +
                                          use + arguments +
                                          "}}\n\n"
                                          R"(data: {"type":"content_block_stop","index":0})"
                                          "\n\n"),
      arguments);
}

TEST(ReplyOrder, UnknownMembersOfAMessageKeepIt) {
  const auto reply =
      translation(Family::kOpenai)
          .chat_reply(target_in("vllm"),
                      R"({"choices":[{"message":{"content":"x","zeta":{"b":1,"a":2},"alpha":3},)"
                      R"("finish_reason":"stop"}]})");
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->choices.at(0).extra.dump(), R"({"zeta":{"b":1,"a":2},"alpha":3})");
}

}  // namespace
}  // namespace millrace::providers::order_test
