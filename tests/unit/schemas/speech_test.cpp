#include "schemas/media/speech.h"

#include <set>

#include <gtest/gtest.h>

namespace millrace::schemas::speech_test {
namespace {

using schemas::Json;
using Parsed = tl::expected<SpeechRequest, Refusal>;

Parsed parse(const Json& more = Json::object()) {
  Json body = {{"model", "m"}, {"input", "hello"}, {"voice", "alloy"}};
  body.update(more);
  std::string text = body.dump();
  return parse_speech_request(text);
}

// The field of the first problem; empty: the request is valid.
std::string wrong(const Parsed& parsed) {
  if (parsed) return "";
  return parsed.error().problems.empty() ? "no problem is named" : parsed.error().problems.front().loc.back();
}

std::string letters(std::size_t count, const std::string& letter) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += letter;
  return text;
}

TEST(SpeechRequest, WhatIsNotSetHasItsDefault) {
  const Parsed parsed = parse();
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->input, "hello");
  EXPECT_EQ(parsed->voice, "alloy");
  EXPECT_EQ(parsed->encoding, SpeechEncoding::kMp3);
  EXPECT_EQ(parsed->speed, 1);
  EXPECT_FALSE(parsed->events || parsed->voice_by_id);
  EXPECT_TRUE(parsed->extra.empty());
}

TEST(SpeechRequest, EveryParameterIsTakenAndUnknownOnesAreKept) {
  const Parsed parsed = parse({{"voice", {{"id", "voice_1"}}},
                               {"response_format", "flac"},
                               {"speed", 0.25},
                               {"instructions", "softly"},
                               {"stream_format", "sse"},
                               {"lang", "en"},
                               {"x", nullptr}});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->voice, "voice_1");
  EXPECT_EQ(parsed->encoding, SpeechEncoding::kFlac);
  EXPECT_EQ(parsed->speed, 0.25);
  EXPECT_EQ(parsed->instructions, "softly");
  EXPECT_TRUE(parsed->events && parsed->voice_by_id);
  EXPECT_EQ(parsed->extra, (Json{{"lang", "en"}}));
}

TEST(SpeechRequest, TheInputHasOneTo4096CharactersWhateverTheirBytes) {
  EXPECT_EQ(parse({{"input", letters(4096, "\u20ac")}})->input.size(), 3u * 4096);
  EXPECT_EQ(wrong(parse({{"input", letters(4097, "a")}})), "input");
  EXPECT_EQ(wrong(parse({{"input", ""}})), "input");
  EXPECT_EQ(wrong(parse({{"input", " \n"}})), "input");
  EXPECT_EQ(wrong(parse({{"input", 7}})), "input");
}

TEST(SpeechRequest, ModelInputAndVoiceAreRequired) {
  for (const char* name : {"model", "input", "voice"}) EXPECT_EQ(wrong(parse({{name, nullptr}})), name);
}

TEST(SpeechRequest, TheSpeedIsFromAQuarterToFour) {
  EXPECT_EQ(wrong(parse({{"speed", 4}})), "");
  for (const Json& speed : {Json(0.2499), Json(4.01), Json("1"), Json(0)})
    EXPECT_EQ(wrong(parse({{"speed", speed}})), "speed") << speed;
}

TEST(SpeechRequest, FormatsAreSixAndStreamsTwo) {
  EXPECT_EQ(wrong(parse({{"response_format", "ogg"}})), "response_format");
  EXPECT_EQ(wrong(parse({{"stream_format", "events"}})), "stream_format");
  for (const char* format : {"mp3", "opus", "aac", "flac", "wav", "pcm"})
    EXPECT_EQ(name(parse({{"response_format", format}})->encoding), format);
  EXPECT_EQ(mime(SpeechEncoding::kOpus), "audio/ogg");
  EXPECT_EQ(mime(SpeechEncoding::kMp3), "audio/mpeg");
}

TEST(SpeechRequest, AVoiceIsANameOrAnObjectWithAnId) {
  for (const Json& voice : {Json(1), Json::object(), Json{{"id", 2}}, Json("")})
    EXPECT_EQ(wrong(parse({{"voice", voice}})), "voice") << voice;
}

TEST(LocalSpeech, EveryVoiceIsOneOfFlites) {
  const std::set<std::string_view> flite{"slt", "rms", "awb", "kal16"};
  for (const LocalVoice& each : local_voices()) EXPECT_TRUE(flite.contains(each.voice)) << each.name;
  for (const std::string_view own : flite) EXPECT_EQ(local_voice(own)->voice, own);
  EXPECT_EQ(local_voices().size(), 17u);
}

TEST(LocalSpeech, AnUnknownVoiceIsRefusedAndTheOthersAreListed) {
  EXPECT_FALSE(local_speech_refusal(*parse()));
  const auto refusal = local_speech_refusal(*parse({{"voice", "nobody"}}));
  ASSERT_TRUE(refusal);
  const FieldProblem& problem = refusal->problems.front();
  EXPECT_EQ(problem.loc, (std::vector<std::string>{"body", "voice"}));
  for (const LocalVoice& each : local_voices())
    EXPECT_NE(problem.msg.find(each.name), std::string::npos) << each.name;
}

TEST(LocalSpeech, WhatItDoesNotKnowIsReportedAsDropped) {
  EXPECT_EQ(dropped_text(local_speech_dropped(*parse({{"instructions", "softly"}, {"lang", "en"}}))),
            "instructions, lang");
  EXPECT_TRUE(local_speech_dropped(*parse()).empty());
}

TEST(SpeechEvents, TheirTypeIsInTheirData) {
  EXPECT_EQ(speech_delta_text("abc"),
            "event: speech.audio.delta\ndata: {\"type\":\"speech.audio.delta\",\"audio\":\"YWJj\"}\n\n");
  EXPECT_EQ(speech_done_text(3),
            "event: speech.audio.done\ndata: {\"type\":\"speech.audio.done\",\"usage\":"
            "{\"input_tokens\":3,\"output_tokens\":0,\"total_tokens\":3}}\n\n");
  EXPECT_NE(speech_done_text(3, "lang").find(R"("dropped_params":"lang")"), std::string::npos);
}

}  // namespace
}  // namespace millrace::schemas::speech_test
