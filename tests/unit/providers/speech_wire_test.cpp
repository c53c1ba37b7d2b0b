#include <gtest/gtest.h>

#include "ai/providers/audio.h"
#include "tests/unit/providers/openai_cases.h"

namespace millrace::providers::speech_wire_test {
namespace {

using schemas::Json;
using schemas::SpeechRequest;
using testing::target_of;

SpeechRequest hello() {
  SpeechRequest request;
  request.model = "what the client sends";
  request.input = "hello";
  request.voice = "alloy";
  return request;
}

Json sent(const SpeechRequest& request) {
  const WireRequest wire = speech_request(target_of("openai", "tts-1"), request);
  EXPECT_EQ(wire.path, "/audio/speech");
  return Json::parse(wire.body);
}

TEST(SpeechWire, AProviderGetsItsModelAndTheFormatAndNoDefaults) {
  EXPECT_EQ(sent(hello()),
            (Json{{"model", "tts-1"}, {"input", "hello"}, {"voice", "alloy"}, {"response_format", "mp3"}}));
}

TEST(SpeechWire, ParametersAreSentAndTheBytesAreRequestedEvenForEvents) {
  SpeechRequest request = hello();
  request.voice_by_id = request.events = true;
  request.encoding = schemas::SpeechEncoding::kPcm;
  request.speed = 1.5;
  request.instructions = "softly";
  request.extra = {{"lang", "en"}};
  EXPECT_EQ(sent(request), (Json{{"model", "tts-1"},
                                 {"input", "hello"},
                                 {"voice", {{"id", "alloy"}}},
                                 {"response_format", "pcm"},
                                 {"speed", 1.5},
                                 {"instructions", "softly"},
                                 {"lang", "en"}}));
}

TEST(SpeechWire, ProvidersOfOpenAisFormSpeakAndOthersAreRefused) {
  for (const char* provider : {"openai", "groq", "vllm", "llamacpp", "openrouter", "azure"})
    EXPECT_FALSE(no_speech(target_of(provider, "m"))) << provider;
  for (const char* provider : {"anthropic", "gemini", "mistral", "xai", "mock"}) {
    const auto none = no_speech(target_of(provider, "m"));
    ASSERT_TRUE(none) << provider;
    EXPECT_EQ(none->code, base::Code::kBadRequest);
    EXPECT_NE(none->message.find(provider), std::string::npos);
  }
}

}  // namespace
}  // namespace millrace::providers::speech_wire_test
