#include <gtest/gtest.h>

#include "ai/providers/audio.h"
#include "tests/unit/providers/openai_cases.h"

namespace millrace::providers::transcription_wire_test {
namespace {

using testing::target_of;

TranscriptionCall order_of(std::string file_name = "talk.mp3") {
  TranscriptionCall order;
  order.file_name = std::move(file_name);
  order.format = schemas::AudioFormat::kMp3;
  order.append_bytes = [](std::string& out) -> base::Status {
    out += "ID3 sound";
    return {};
  };
  return order;
}

// The body, with its boundary replaced by B.
std::string form_of(const Target& target, const TranscriptionCall& order) {
  const auto wire = transcription_request(target, order);
  EXPECT_TRUE(wire);
  constexpr std::string_view kType = "multipart/form-data; boundary=";
  const std::string& type = wire->headers.at(0).second;
  EXPECT_TRUE(type.starts_with(kType)) << type;
  const std::string boundary = type.substr(kType.size());
  std::string body = wire->body;
  for (std::size_t at = 0; (at = body.find(boundary, at)) != std::string::npos;)
    body.replace(at, boundary.size(), "B");
  return body;
}

std::string field(const std::string& name, const std::string& value) {
  return "--B\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
}
std::string file(const std::string& name) {
  return "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name +
         "\"\r\nContent-Type: application/octet-stream\r\n\r\nID3 sound\r\n--B--\r\n";
}

TEST(TranscriptionWire, TimesAreRequestedOfWhisperWithTheClientsParameters) {
  TranscriptionCall order = order_of();
  order.language = "de";
  order.prompt = "Names: Ada";
  order.temperature = 0.25;
  EXPECT_EQ(form_of(target_of("openai", "whisper-1"), order),
            field("model", "whisper-1") + field("language", "de") + field("prompt", "Names: Ada") +
                field("temperature", "0.25") + field("response_format", "verbose_json") + file("talk.mp3"));
  EXPECT_EQ(transcription_request(target_of("openai", "whisper-1"), order)->path, "/audio/transcriptions");
}

TEST(TranscriptionWire, WordsAreRequestedBesideTheSegments) {
  TranscriptionCall order = order_of();
  order.words = true;
  const std::string form = form_of(target_of("groq", "whisper-large-v3"), order);
  EXPECT_NE(
      form.find(field("timestamp_granularities[]", "segment") + field("timestamp_granularities[]", "word")),
      std::string::npos);
}

TEST(TranscriptionWire, TheTextIsRequestedOfAModelWithoutTimes) {
  TranscriptionCall order = order_of();
  order.words = true;
  const std::string form = form_of(target_of("openai", "gpt-4o-mini-transcribe"), order);
  EXPECT_NE(form.find(field("response_format", "json")), std::string::npos);
  EXPECT_EQ(form.find("granularities"), std::string::npos);
}

TEST(TranscriptionWire, ATranslationHasAPathOfItsOwnAndNoLanguage) {
  TranscriptionCall order = order_of();
  order.translate = true;
  order.language = "de";
  order.words = true;
  const auto wire = transcription_request(target_of("openai", "whisper-1"), order);
  ASSERT_TRUE(wire);
  EXPECT_EQ(wire->path, "/audio/translations");
  EXPECT_EQ(wire->body.find("language"), std::string::npos);
  EXPECT_EQ(wire->body.find("granularities"), std::string::npos);
}

TEST(TranscriptionWire, MistralGetsItsOwnForm) {
  EXPECT_EQ(
      form_of(target_of("mistral", "voxtral-mini-latest"), order_of()),
      field("model", "voxtral-mini-latest") + field("timestamp_granularities", "segment") + file("talk.mp3"));
  EXPECT_FALSE(no_transcription(target_of("mistral", "voxtral-mini-latest")));
  EXPECT_TRUE(no_translation(target_of("mistral", "voxtral-mini-latest")));
}

TEST(TranscriptionWire, SpeakersAreRequestedWithTheClientsParameters) {
  TranscriptionCall order = order_of();
  order.form = schemas::TranscriptFormat::kDiarizedJson;
  order.language = "de";
  order.speakers = {.chunking = schemas::ChunkingStrategy{.server_vad = true, .threshold = 0.5},
                    .names = {"agent", "b"},
                    .references = {"data:audio/wav;base64,AA", "data:audio/wav;base64,BB"}};
  EXPECT_EQ(form_of(target_of("openai", "gpt-4o-transcribe-diarize"), order),
            field("model", "gpt-4o-transcribe-diarize") + field("language", "de") +
                field("chunking_strategy[type]", "server_vad") +
                field("chunking_strategy[threshold]", "0.5") + field("known_speaker_names[]", "agent") +
                field("known_speaker_names[]", "b") +
                field("known_speaker_references[]", "data:audio/wav;base64,AA") +
                field("known_speaker_references[]", "data:audio/wav;base64,BB") +
                field("response_format", "diarized_json") + file("talk.mp3"));
}

TEST(TranscriptionWire, AModelThatTellsSpeakersApartReturnsTimesOnlyWithThem) {
  const Target target = target_of("openai", "gpt-4o-transcribe-diarize");
  for (const auto& [form, expected] : std::vector<std::pair<schemas::TranscriptFormat, std::string>>{
           {schemas::TranscriptFormat::kJson, "json"},
           {schemas::TranscriptFormat::kText, "json"},
           {schemas::TranscriptFormat::kSrt, "diarized_json"},
           {schemas::TranscriptFormat::kVerboseJson, "diarized_json"}}) {
    TranscriptionCall order = order_of();
    order.form = form;
    order.words = true;
    EXPECT_EQ(form_of(target, order), field("model", "gpt-4o-transcribe-diarize") +
                                          field("chunking_strategy", "auto") +
                                          field("response_format", expected) + file("talk.mp3"));
  }
}

TEST(TranscriptionWire, OtherModelsAreAskedForSpeakersOnlyWhenTheClientAsks) {
  TranscriptionCall order = order_of();
  order.form = schemas::TranscriptFormat::kSrt;
  const Target target = target_of("vllm", "ears");
  EXPECT_NE(form_of(target, order).find(field("response_format", "verbose_json")), std::string::npos);
  order.form = schemas::TranscriptFormat::kDiarizedJson;
  const std::string form = form_of(target, order);
  EXPECT_NE(form.find(field("response_format", "diarized_json")), std::string::npos);
  EXPECT_EQ(form.find("chunking_strategy"), std::string::npos);
}

TEST(TranscriptionWire, MistralTellsSpeakersApartWithoutALanguage) {
  TranscriptionCall order = order_of();
  order.form = schemas::TranscriptFormat::kDiarizedJson;
  order.language = "de";
  order.speakers.chunking.emplace();
  EXPECT_EQ(form_of(target_of("mistral", "voxtral-mini-latest"), order),
            field("model", "voxtral-mini-latest") + field("diarize", "true") +
                field("timestamp_granularities", "segment") + file("talk.mp3"));
}

TEST(TranscriptionWire, WhatProvidersHaveForSpeakersIsKnown) {
  const auto support = [](const std::string& provider) {
    const schemas::SpeakerSupport has = speaker_support(target_of(provider, "m"));
    return std::string(has.speakers ? "speakers " : "") + (has.known_speakers ? "known " : "") +
           (has.chunking ? "chunking " : "") + (has.language ? "language" : "");
  };
  EXPECT_TRUE(speaker_support(target_of("openai", "m")).prompt);
  EXPECT_EQ(support("openai"), "chunking language");  // of OpenAI's own models, only …-diarize has speakers
  for (const char* provider : {"azure", "vllm", "openrouter"})
    EXPECT_EQ(support(provider), "speakers known chunking language") << provider;
  EXPECT_EQ(support("mistral"), "speakers ");
  for (const char* provider : {"groq", "xai", "anthropic", "gemini", "mock"})
    EXPECT_EQ(support(provider), "language") << provider;
}

TEST(TranscriptionWire, OpenaisOwnModelsAreKnown) {
  const auto has_speakers = [](const std::string& model, const std::string& base_url) {
    Target target = target_of("openai", model);
    target.base_url = base_url;
    return speaker_support(target).speakers && speaker_support(target).known_speakers;
  };
  const std::string own(preset_named("openai")->base_url);
  EXPECT_FALSE(has_speakers("whisper-1", own));
  EXPECT_FALSE(has_speakers("gpt-4o-transcribe", own));
  EXPECT_TRUE(has_speakers("gpt-4o-transcribe-diarize", own));
  EXPECT_TRUE(has_speakers("whisper-1", "http://127.0.0.1:9000/v1"));
}

TEST(TranscriptionWire, AModelForSpeakersGetsNoPrompt) {
  TranscriptionCall order = order_of();
  order.prompt = "Ada speaks";
  const std::string prompt = field("prompt", "Ada speaks");
  EXPECT_EQ(form_of(target_of("openai", "gpt-4o-transcribe-diarize"), order).find(prompt), std::string::npos);
  EXPECT_NE(form_of(target_of("openai", "whisper-1"), order).find(prompt), std::string::npos);
}

TEST(TranscriptionWire, SpeakersAreReadUnderEitherName) {
  const auto transcript = transcription_reply(
      target_of("openai", "gpt-4o-transcribe-diarize"),
      R"({"task":"transcribe","duration":3.5,"text":"Hello. Hi. Yes.","segments":[)"
      R"({"type":"transcript.text.segment","id":"seg_0","start":0,"end":1.5,"text":"Hello.","speaker":"agent"},)"
      R"({"type":"transcription_segment","start":1.5,"end":2,"text":"Hi.","speaker_id":"speaker_1"},)"
      R"({"id":"seg_2","start":2,"end":3,"text":"Yes.","speaker":null}]})");
  ASSERT_TRUE(transcript);
  ASSERT_EQ(transcript->segments.size(), 3u);
  EXPECT_EQ(transcript->segments[0].speaker, "agent");
  EXPECT_EQ(transcript->segments[1].speaker, "speaker_1");
  EXPECT_EQ(transcript->segments[2].speaker, "");
}

// "segments words"
std::string requested_times(const std::string& provider, const std::string& model,
                            std::string_view language = {}) {
  const ReportedTimes times = reported_times(target_of(provider, model), language);
  return std::string(times.segments ? "segments" : "") + (times.words ? " words" : "");
}

TEST(TranscriptionWire, ModelsWithTimesAreKnownBeforeTheRequest) {
  EXPECT_EQ(requested_times("openai", "whisper-1", "de"), "segments words");
  EXPECT_EQ(requested_times("vllm", "ears"), "segments words");
  EXPECT_EQ(requested_times("openai", "gpt-4o-transcribe"), "");
  EXPECT_EQ(requested_times("openai", "gpt-4o-transcribe-diarize"), "segments");
  EXPECT_EQ(requested_times("mistral", "voxtral-mini-latest"), "segments");
  EXPECT_EQ(requested_times("mistral", "voxtral-mini-latest", "de"), "");
  TranscriptionCall order = order_of();
  order.language = "de";
  EXPECT_EQ(form_of(target_of("mistral", "voxtral-mini-latest"), order).find("granularities"),
            std::string::npos);
}

TEST(TranscriptionWire, TheFilesNameEndsAsItsBytesAre) {
  const Target target = target_of("openai", "whisper-1");
  for (const auto& [given, expected] :
       std::vector<std::pair<std::string, std::string>>{{"", "audio.mp3"},
                                                        {"voice", "voice.mp3"},
                                                        {"a/b\\talk.mpga", "talk.mpga"},
                                                        {"talk.wav", "talk.wav.mp3"},
                                                        {"say \"x\"\r\n.mp3", "say %22x%22%0D%0A.mp3"}}) {
    EXPECT_NE(form_of(target, order_of(given)).find(file(expected)), std::string::npos) << given;
  }
}

TEST(TranscriptionWire, ARecordingThatCannotBeReadIsNotSent) {
  TranscriptionCall order = order_of();
  order.append_bytes = [](std::string&) -> base::Status {
    return base::error(base::Code::kInternal, "gone");
  };
  const auto wire = transcription_request(target_of("openai", "whisper-1"), order);
  ASSERT_FALSE(wire);
  EXPECT_EQ(wire.error().message, "gone");
}

TEST(TranscriptionWire, AVerboseReplyIsReadWithItsTimes) {
  const auto transcript = transcription_reply(
      target_of("openai", "whisper-1"),
      R"({"task":"transcribe","language":"german","duration":8.47,"text":"Guten Tag.","segments":[)"
      R"({"id":0,"seek":3,"start":0.0,"end":1.5,"text":" Guten Tag.","tokens":[50364,7],"temperature":0.2,)"
      R"("avg_logprob":-0.28,"compression_ratio":1.2,"no_speech_prob":0.01},7,{"start":1}],)"
      R"("words":[{"word":"Guten","start":0.1,"end":0.4},{"w":"x"}]})");
  ASSERT_TRUE(transcript);
  EXPECT_EQ(transcript->text, "Guten Tag.");
  EXPECT_EQ(transcript->language, "german");
  EXPECT_EQ(transcript->seconds, 8.47);
  ASSERT_EQ(transcript->segments.size(), 1u);
  const auto& segment = transcript->segments[0];
  EXPECT_EQ(segment.seek, 3);
  EXPECT_EQ(segment.end, 1.5);
  EXPECT_EQ(segment.tokens, (std::vector<std::int64_t>{50364, 7}));
  EXPECT_EQ(segment.avg_logprob, -0.28);
  EXPECT_EQ(segment.no_speech_prob, 0.01);
  ASSERT_EQ(transcript->words.size(), 1u);
  EXPECT_EQ(transcript->words[0].end, 0.4);
}

TEST(TranscriptionWire, TheLengthIsReadWhereverItIsReported) {
  const Target target = target_of("openai", "whisper-1");
  EXPECT_EQ(transcription_reply(target, R"({"text":"a","duration":"8.5"})")->seconds, 8.5);
  EXPECT_EQ(transcription_reply(target, R"({"text":"a","usage":{"type":"duration","seconds":9}})")->seconds,
            9.0);
  EXPECT_EQ(transcription_reply(target, R"({"text":"a","usage":{"prompt_audio_seconds":4}})")->seconds, 4.0);
  EXPECT_EQ(transcription_reply(target, R"({"text":"a","usage":{"total_tokens":4}})")->seconds, std::nullopt);
}

TEST(TranscriptionWire, WhatIsNoReplyIsTheProvidersFault) {
  for (const char* body : {"", "[]", "{}", R"({"text":7})", "<html>"}) {
    const auto none = transcription_reply(target_of("openai", "whisper-1"), body);
    ASSERT_FALSE(none) << body;
    EXPECT_EQ(none.error().code, base::Code::kUpstream);
  }
}

TEST(TranscriptionWire, ProvidersWithoutItAreNamed) {
  for (const char* provider : {"anthropic", "gemini", "xai", "mock"}) {
    const auto none = no_transcription(target_of(provider, "m"));
    ASSERT_TRUE(none) << provider;
    EXPECT_EQ(none->code, base::Code::kBadRequest);
    EXPECT_NE(none->message.find(provider), std::string::npos);
  }
  for (const char* provider : {"openai", "groq", "vllm", "llamacpp", "azure"})
    EXPECT_FALSE(no_translation(target_of(provider, "m"))) << provider;
}

}  // namespace
}  // namespace millrace::providers::transcription_wire_test
