#include <array>

#include <gtest/gtest.h>

#include "ai/providers/openai/splice.h"
#include "tests/unit/providers/openai_cases.h"

// The provider's request must be the same whether the client's request was parsed with or without a tree.
namespace millrace::providers::openai_splice_test {
namespace {

using testing::target_of;

constexpr std::array<std::string_view, 6> kSpliced{
    R"({"model":"m","messages":[{"role":"user","content":"hi \"there\"\n"}]})",
    R"({"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"ü"}],)"
    R"("temperature":0.7,"max_tokens":256})",
    R"({"messages":[{"role":"developer","name":"n","content":"s"}],"model":"m","top_p":1,"temperature":1,)"
    R"("presence_penalty":0,"frequency_penalty":0})",
    R"({"model":"m","messages":[{"role":"user","content":"x"}],"presence_penalty":1,"frequency_penalty":-1,)"
    R"("seed":7,"max_completion_tokens":1})",
    R"({"model":"m","messages":[{"role":"user","content":"x"}],"user":"u","temperature":2,"n":1})",
    R"({"model":"m","messages":[{"role":"user","content":"x"}],"temperature":0,)"
    R"("user":"0123456789012345678901234567890123456789012345678901234567890123456789"})",
};

schemas::ChatRequest spliced(std::string_view text, bool formed) {
  std::string body(text);
  auto request = formed ? schemas::parse_chat_request(body) : schemas::read_chat_request(body);
  EXPECT_TRUE(request && request->quick.empty() == formed) << text;
  return *std::move(request);
}

void expect_same_wire(const Target& target, std::string_view text, bool stream) {
  const auto quick = translation(Family::kOpenai).chat_request(target, spliced(text, false), stream);
  const auto tree = translation(Family::kOpenai).chat_request(target, spliced(text, true), stream);
  ASSERT_TRUE(quick && tree);
  EXPECT_EQ(schemas::Json::parse(quick->body), schemas::Json::parse(tree->body)) << target.name << text;
  EXPECT_EQ(quick->dropped, tree->dropped) << target.name << text;
  EXPECT_EQ(quick->path, tree->path);
  EXPECT_EQ(quick->headers, tree->headers);
  EXPECT_EQ(quick->choices, tree->choices);
}

TEST(OpenaiSplice, SendsEveryProviderWhatTheTreeWriterSends) {
  for (const Preset& preset : presets()) {
    if (preset.family != Family::kOpenai) continue;
    for (const char* model : {"any", "gpt-4o", "gpt-5", "gpt-5.1", "o3", "grok-4", "gpt-oss-120b"}) {
      for (const std::string_view text : kSpliced) {
        expect_same_wire(target_of(preset.name, model), text, false);
        expect_same_wire(target_of(preset.name, model), text, true);
      }
    }
  }
}

TEST(OpenaiSplice, SendsTheClientsOwnBytes) {
  const auto wire = openai_splice(target_of("openai", "gpt-4o"), spliced(kSpliced[0], false), false);
  ASSERT_TRUE(wire);
  EXPECT_EQ(wire->body, R"({"model":"gpt-4o","messages":[{"role":"user","content":"hi \"there\"\n"}]})");
}

TEST(OpenaiSplice, LeavesToTheTreeWriterWhatATargetGetsOtherwise) {
  EXPECT_FALSE(openai_splice(target_of("mistral", "m"), spliced(kSpliced[0], false), false));
  EXPECT_FALSE(openai_splice(target_of("groq", "m"), spliced(kSpliced[0], false), false));
  EXPECT_FALSE(openai_splice(target_of("openai", "o3"), spliced(kSpliced[1], false), false));
  EXPECT_FALSE(openai_splice(target_of("openai", "gpt-4o"), spliced(kSpliced[5], false), false));
}

}  // namespace
}  // namespace millrace::providers::openai_splice_test
