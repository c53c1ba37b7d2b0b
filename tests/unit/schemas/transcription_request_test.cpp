#include "schemas/media/transcription_request.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "platform/base/base64.h"

namespace millrace::schemas::transcription_request_test {
namespace {

using Parsed = tl::expected<TranscriptionRequest, Refusal>;

Parsed parse(QueryPairs fields, TranscriptionTask task = TranscriptionTask::kTranscribe,
             bool has_file = true) {
  static const LocalTranscriptionModels kLocal;
  return parse_transcription_request(task, fields, has_file,
                                     {.local = kLocal, .has_provider = [](const std::string& model) {
                                        return model == "groq/whisper-large-v3";
                                      }});
}
Parsed local(QueryPairs fields) {
  fields.insert(fields.begin(), {"model", "millrace/sphinx-en"});
  return parse(std::move(fields));
}
Parsed far(QueryPairs fields, TranscriptionTask task = TranscriptionTask::kTranscribe) {
  fields.emplace_back("model", "groq/whisper-large-v3");
  return parse(std::move(fields), task);
}

// "file missing; temperature less_than_equal"
std::string problems(const Parsed& parsed) {
  if (parsed) return "none";
  std::string out;
  for (const FieldProblem& each : parsed.error().problems)
    out += (out.empty() ? "" : "; ") + dotted(each.loc, 0) + " " + each.type;
  return out;
}

std::string dropped(const Parsed& parsed) { return parsed ? dropped_text(parsed->dropped) : "refused"; }

TEST(TranscriptionRequests, NeedAFileAndAModel) {
  EXPECT_EQ(problems(parse({}, TranscriptionTask::kTranscribe, false)),
            "body.file missing; body.model missing");
  EXPECT_EQ(problems(parse({{"model", ""}}, TranscriptionTask::kTranslate)), "body.model missing");
  EXPECT_EQ(
      problems(parse({{"file", "a text"}, {"model", "whisper-1"}}, TranscriptionTask::kTranscribe, false)),
      "body.file missing");
}

TEST(TranscriptionRequests, OfTheLocalEngineHaveTheirDefaults) {
  const Parsed parsed = local({});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->spec.model, "millrace/sphinx-en");
  EXPECT_FALSE(parsed->spec.by_provider || parsed->stream || parsed->deferred);
  EXPECT_FALSE(parsed->spec.temperature.has_value());
  EXPECT_EQ(parsed->spec.style.form, TranscriptFormat::kJson);
  EXPECT_TRUE(parsed->spec.style.segments);
  EXPECT_FALSE(parsed->spec.style.words || parsed->spec.style.translate);
  EXPECT_EQ(dropped(parsed), "");
}

TEST(TranscriptionRequests, TakeTheirFieldsAsText) {
  const Parsed parsed = far({{"language", "de"},
                             {"prompt", "Umlaute"},
                             {"response_format", "srt"},
                             {"temperature", "0.25"},
                             {"stream", "True"}});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(parsed->spec.by_provider && parsed->stream);
  EXPECT_EQ(parsed->spec.language, "de");
  EXPECT_EQ(parsed->spec.prompt, "Umlaute");
  EXPECT_EQ(parsed->spec.style.form, TranscriptFormat::kSrt);
  EXPECT_EQ(parsed->spec.temperature, 0.25);
  EXPECT_EQ(dropped(parsed), "response_format");
}

TEST(TranscriptionRequests, EmptyFieldsCountAsAbsent) {
  const Parsed parsed =
      local({{"language", ""}, {"temperature", ""}, {"response_format", ""}, {"prompt", ""}});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(dropped(parsed), "");
}

TEST(TranscriptionRequests, WrongValuesAreNamed) {
  EXPECT_EQ(problems(local({{"temperature", "1.1"}})), "body.temperature less_than_equal");
  EXPECT_EQ(problems(local({{"temperature", "-0.1"}})), "body.temperature greater_than_equal");
  EXPECT_EQ(problems(local({{"temperature", "warm"}})), "body.temperature float_type");
  EXPECT_EQ(problems(local({{"response_format", "docx"}})), "body.response_format literal_error");
  EXPECT_EQ(problems(local({{"stream", "perhaps"}})), "body.stream bool_type");
  EXPECT_EQ(problems(local({{"prompt", std::string(5000, 'x')}})), "body.prompt string_too_long");
  EXPECT_EQ(problems(local({{"timestamp_granularities[]", "letter"}, {"response_format", "verbose_json"}})),
            "body.timestamp_granularities literal_error");
}

TEST(TranscriptionRequests, ATemperatureOutOfRangeIsAProblemOfTheSpecsShape) {
  const Parsed parsed = parse({{"model", "whisper-1"}, {"temperature", "2"}}, TranscriptionTask::kTranslate);
  ASSERT_FALSE(parsed.has_value());
  const FieldProblem& only = parsed.error().problems.front();
  EXPECT_EQ(only.loc, (std::vector<std::string>{"body", "temperature"}));
  EXPECT_EQ(only.input, "2.0");
  EXPECT_EQ(only.ctx, R"({"le":1})");
}

TEST(TranscriptionRequests, GranularitiesSayWhatAVerboseReplyHas) {
  const auto style = [](QueryPairs more) {
    more.emplace_back("response_format", "verbose_json");
    const Parsed parsed = local(std::move(more));
    return parsed ? std::pair(parsed->spec.style.segments, parsed->spec.style.words)
                  : std::pair(false, false);
  };
  EXPECT_EQ(style({}), std::pair(true, false));
  EXPECT_EQ(style({{"timestamp_granularities[]", "word"}}), std::pair(false, true));
  EXPECT_EQ(style({{"timestamp_granularities", "segment"}}), std::pair(true, false));
  EXPECT_EQ(style({{"timestamp_granularities[]", "word"}, {"timestamp_granularities[]", "segment"}}),
            std::pair(true, true));
  EXPECT_FALSE(local({{"response_format", "verbose_json"}})->needs_times);
  EXPECT_TRUE(
      local({{"response_format", "verbose_json"}, {"timestamp_granularities[]", "segment"}})->needs_times);
  EXPECT_EQ(problems(local({{"timestamp_granularities[]", "word"}})),
            "body.timestamp_granularities value_error");
}

TEST(TranscriptionRequests, TheLocalEngineKnowsEnglishOnly) {
  for (const char* english : {"en", "EN", "english", "en-GB", "en_US"})
    EXPECT_EQ(problems(local({{"language", english}})), "none") << english;
  const Parsed german = local({{"language", "de"}});
  EXPECT_EQ(problems(german), "body.language value_error");
  EXPECT_NE(german.error().error.message.find("docs/audio.md"), std::string::npos);
  EXPECT_EQ(problems(far({{"language", "de"}})), "none");
}

// Moonshine, Sphinx, Whisper for German and English, SenseVoice for Japanese.
const LocalTranscriptionModels& several_models() {
  static const LocalTranscriptionModels kModels(
      true, {{.name = "whisper-base", .display_name = "", .languages = {"en", "de"}, .translates = true},
             {.name = "whisper-2", .display_name = "", .languages = {"de"}, .translates = true},
             {.name = "sense", .display_name = "", .languages = {"ja", "yue"}, .translates = false}});
  return kModels;
}
Parsed with_several(QueryPairs fields, TranscriptionTask task = TranscriptionTask::kTranscribe) {
  return parse_transcription_request(
      task, fields, true,
      {.local = several_models(),
       .has_provider = [](const std::string& model) { return model == "whisper-1" || model == "sense"; },
       .may_suggest = [](std::string_view name) { return name != "whisper-2"; }});
}
std::string message(const Parsed& parsed) {
  return parsed                            ? "none"
         : parsed.error().problems.empty() ? parsed.error().error.message
                                           : parsed.error().problems.front().msg;
}

TEST(TranscriptionRequests, ALocalModelRefusesALanguageThatItDoesNotKnow) {
  EXPECT_EQ(message(with_several({{"model", "millrace/moonshine-en"}, {"language", "de"}})),
            "The model 'millrace/moonshine-en' supports only English (en); for German (de) use model "
            "'whisper-base'");
  EXPECT_EQ(message(with_several({{"model", "sense"}, {"language", "fr"}})),
            "The model 'sense' supports Japanese (ja), Cantonese (yue); no local model supports French (fr): "
            "configure one in stt.models, or a Whisper server (docs/audio.md)");
  EXPECT_EQ(message(with_several({{"model", "whisper-base"}, {"language", "klingon"}})),
            "Input should be an ISO 639-1 code, such as 'en'");
}

TEST(TranscriptionRequests, TheLanguageOfALocalModelIsStoredAsItsCode) {
  const Parsed german = with_several({{"model", "whisper-base"}, {"language", "German"}});
  ASSERT_TRUE(german.has_value()) << message(german);
  EXPECT_EQ(german->spec.language, "de");
  EXPECT_EQ(german->spec.local_model, "whisper-base");
  EXPECT_FALSE(german->spec.by_provider);
}

TEST(TranscriptionRequests, AConfiguredModelComesBeforeAProvidersModelOfItsName) {
  EXPECT_FALSE(with_several({{"model", "sense"}})->spec.by_provider);
  const Parsed far_away = with_several({{"model", "whisper-1"}});
  EXPECT_TRUE(far_away->spec.by_provider);
  EXPECT_EQ(far_away->spec.local_model, "");
}

TEST(TranscriptionRequests, FurtherNamesMeanTheDefaultModel) {
  const Parsed named = with_several({{"model", "gpt-4o-transcribe"}});
  EXPECT_EQ(named->spec.model, "gpt-4o-transcribe");
  EXPECT_EQ(named->spec.local_model, "millrace/moonshine-en");
  EXPECT_EQ(parse({{"model", "gpt-4o-transcribe"}})->spec.local_model, "millrace/sphinx-en");
}

TEST(TranscriptionRequests, AModelThatIsNotInstalledSaysHowToGetIt) {
  const Parsed parsed = parse({{"model", "millrace/moonshine-en"}});
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().error.code, base::Code::kModelNotFound);
  EXPECT_EQ(parsed.error().error.message,
            "model 'millrace/moonshine-en' is not installed on this gateway, or stt.engine turns it off: "
            "`millrace doctor` says which; install it with `scripts/setup run`, or use model "
            "'millrace/sphinx-en'");
}

TEST(TranscriptionRequests, TranslationsNeedAnEnglishModelOrOneThatTranslates) {
  const auto translated = [](const char* model) {
    return message(with_several({{"model", model}}, TranscriptionTask::kTranslate));
  };
  for (const char* model : {"millrace/moonshine-en", "millrace/sphinx-en", "whisper-base"})
    EXPECT_EQ(translated(model), "none") << model;
  EXPECT_EQ(translated("sense"), "The model 'sense' does not translate; use model 'whisper-base'");
}

TEST(TranscriptionRequests, WhatIsNotSentToTheModelIsReported) {
  EXPECT_EQ(dropped(local({{"prompt", "x"}, {"temperature", "0.5"}, {"speed", "2"}})),
            "prompt, temperature, speed");
  EXPECT_EQ(dropped(local({{"temperature", "0"}})), "");
  EXPECT_EQ(dropped(far({{"prompt", "x"}, {"include[]", "logprobs"}, {"chunking_strategy", "auto"}})),
            "include");
}

TEST(TranscriptionRequests, ACutIsAutoOrHasTheMembersOfVoiceDetection) {
  const auto cut = [](const QueryPairs& fields) {
    const Parsed parsed = far(fields);
    std::string out = parsed ? "" : problems(parsed);
    if (!parsed || !parsed->spec.speakers.chunking) return out;
    for (const auto& [name, value] : form_fields(*parsed->spec.speakers.chunking))
      out += name + "=" + value + " ";
    return out;
  };
  EXPECT_EQ(cut({}), "");
  EXPECT_EQ(cut({{"chunking_strategy", "auto"}}), "chunking_strategy=auto ");
  const std::string detailed =
      "chunking_strategy[type]=server_vad chunking_strategy[prefix_padding_ms]=300 "
      "chunking_strategy[silence_duration_ms]=200 chunking_strategy[threshold]=0.5 ";
  EXPECT_EQ(cut({{"chunking_strategy[type]", "server_vad"},
                 {"chunking_strategy[threshold]", "0.5"},
                 {"chunking_strategy[prefix_padding_ms]", "300"},
                 {"chunking_strategy[silence_duration_ms]", "200"}}),
            detailed);
  EXPECT_EQ(
      cut({{"chunking_strategy",
            R"({"type":"server_vad","threshold":0.5,"prefix_padding_ms":300,"silence_duration_ms":200})"}}),
      detailed);
  EXPECT_EQ(cut({{"chunking_strategy[type]", "server_vad"}}), "chunking_strategy[type]=server_vad ");
}

TEST(TranscriptionRequests, AWrongCutIsNamed) {
  EXPECT_EQ(problems(far({{"chunking_strategy", "none"}})), "body.chunking_strategy literal_error");
  EXPECT_EQ(problems(far({{"chunking_strategy", "[1]"}})), "body.chunking_strategy literal_error");
  EXPECT_EQ(problems(far({{"chunking_strategy", "auto"}, {"chunking_strategy[type]", "server_vad"}})),
            "body.chunking_strategy value_error");
  EXPECT_EQ(problems(far({{"chunking_strategy[threshold]", "0.5"}})), "body.chunking_strategy.type missing");
  EXPECT_EQ(problems(far({{"chunking_strategy[type]", "semantic_vad"},
                          {"chunking_strategy[threshold]", "1.5"},
                          {"chunking_strategy[prefix_padding_ms]", "-1"},
                          {"chunking_strategy[silence_duration_ms]", "60001"}})),
            "body.chunking_strategy.type literal_error; "
            "body.chunking_strategy.prefix_padding_ms greater_than_equal; "
            "body.chunking_strategy.silence_duration_ms less_than_equal; "
            "body.chunking_strategy.threshold less_than_equal");
  EXPECT_EQ(
      problems(far({{"chunking_strategy[type]", "server_vad"}, {"chunking_strategy[threshold]", "loud"}})),
      "body.chunking_strategy.threshold float_type");
  EXPECT_EQ(dropped(far({{"chunking_strategy[type]", "server_vad"}, {"chunking_strategy[create]", "1"}})),
            "chunking_strategy.create");
}

// A WAV file of silence, 8,000 bytes a second, as a data URI.
std::string reference_of(double seconds) {
  const auto le32 = [](std::uint32_t value) {
    std::string out;
    for (int i = 0; i < 4; ++i, value >>= 8) out += static_cast<char>(value & 0xffu);
    return out;
  };
  const auto bytes = static_cast<std::uint32_t>(8000 * seconds);
  const std::string format =
      std::string("\x01\0\x01\0", 4) + le32(8000) + le32(8000) + std::string("\x01\0\x08\0", 4);
  const std::string file = "RIFF" + le32(36 + bytes) + "WAVEfmt " + le32(16) + format + "data" + le32(bytes) +
                           std::string(bytes, '\x80');
  return "data:audio/wav;base64," + base::base64_encode(file);
}

TEST(TranscriptionRequests, KnownSpeakersHaveNamesAndRecordings) {
  const Parsed parsed = far({{"known_speaker_names[]", "agent"},
                             {"known_speaker_names[]", "Zo\xc3\xab"},
                             {"known_speaker_references[]", reference_of(2)},
                             {"known_speaker_references[]", reference_of(10)}});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->spec.speakers.names, (std::vector<std::string>{"agent", "Zo\xc3\xab"}));
  EXPECT_EQ(parsed->spec.speakers.references, (std::vector<std::string>{reference_of(2), reference_of(10)}));
  EXPECT_EQ(dropped(parsed), "");
}

TEST(TranscriptionRequests, WrongKnownSpeakersAreNamed) {
  const auto with = [](const std::string& reference) {
    return problems(far({{"known_speaker_names[]", "a"}, {"known_speaker_references[]", reference}}));
  };
  EXPECT_EQ(with(reference_of(1.9)), "body.known_speaker_references.0 value_error");
  EXPECT_EQ(with(reference_of(10.1)), "body.known_speaker_references.0 value_error");
  EXPECT_EQ(with("a.wav"), "body.known_speaker_references.0 value_error");
  EXPECT_EQ(with("data:audio/wav;base64,!!"), "body.known_speaker_references.0 value_error");
  EXPECT_EQ(with("data:audio/wav;base64,aGVsbG8="), "body.known_speaker_references.0 value_error");
  EXPECT_EQ(with(std::string(kSpeakerReferenceMax + 1, 'x')),
            "body.known_speaker_references.0 string_too_long");
  EXPECT_EQ(problems(far({{"known_speaker_names[]", "a"}})), "body.known_speaker_references value_error");
  EXPECT_EQ(problems(far({{"known_speaker_references[]", reference_of(2)}})),
            "body.known_speaker_references value_error");
  QueryPairs many;
  for (int i = 0; i < 5; ++i) many.emplace_back("known_speaker_names[]", "a");
  EXPECT_EQ(problems(far(many)), "body.known_speaker_names too_long");
  EXPECT_EQ(problems(far({{"known_speaker_names[]", std::string(129, 'x')}})),
            "body.known_speaker_names.0 string_too_long");
}

TEST(TranscriptionRequests, TheSchemaHasTheBoundsOfSpeakers) {
  const Json rows = json_schema(transcription_fields(TranscriptionTask::kTranscribe))["properties"];
  for (const auto name : {kKnownSpeakerNames, kKnownSpeakerReferences})
    EXPECT_EQ(rows[std::string(name)]["maxItems"], kKnownSpeakersMax);
  EXPECT_EQ(rows["known_speaker_names"]["items"]["maxLength"], kSpeakerNameMax);
  EXPECT_EQ(rows["known_speaker_references"]["items"]["maxLength"], kSpeakerReferenceMax);
  const Json& vad = rows["chunking_strategy"]["anyOf"][1]["properties"];
  for (const char* name : {"prefix_padding_ms", "silence_duration_ms"})
    EXPECT_EQ(vad[name]["maximum"], kVadMillisecondsMax);
}

TEST(TranscriptionRequests, SpeakersNeedAModelThatTellsThemApart) {
  const QueryPairs diarized{{"response_format", "diarized_json"}};
  const Parsed own = local(diarized), other = far(diarized);
  ASSERT_TRUE(own && other);
  const auto refusal = no_speakers(*own, false);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->error.code, base::Code::kInvalidField);
  EXPECT_NE(refusal->error.message.find("local engine"), std::string::npos) << refusal->error.message;
  EXPECT_NE(refusal->error.message.find("gpt-4o-transcribe-diarize"), std::string::npos);
  EXPECT_EQ(dotted(refusal->problems.front().loc, 1), "response_format");
  EXPECT_FALSE(no_speakers(*own, true));
  EXPECT_FALSE(no_speakers(*other, true));
  const auto at_groq = no_speakers(*other, false);
  ASSERT_TRUE(at_groq.has_value());
  EXPECT_NE(at_groq->error.message.find("'groq/whisper-large-v3'"), std::string::npos);
  EXPECT_FALSE(no_speakers(*local({}), false));
  EXPECT_EQ(problems(far(diarized, TranscriptionTask::kTranslate)), "body.response_format literal_error");
  EXPECT_EQ(dropped(far({{"response_format", "diarized_json"}, {"stream", "true"}})), "");
}

TEST(TranscriptionRequests, WhatAModelHasNotForSpeakersIsDropped) {
  const auto left = [](const SpeakerSupport& support) {
    Parsed parsed = far({{"response_format", "diarized_json"},
                         {"language", "de"},
                         {"chunking_strategy", "auto"},
                         {"known_speaker_names[]", "a"},
                         {"known_speaker_references[]", reference_of(3)}});
    drop_unsupported_speakers(support, *parsed);
    const SpeakerParameters& kept = parsed->spec.speakers;
    return dropped(parsed) + "|" + (kept.chunking ? "chunking " : "") +
           std::to_string(kept.names.size() + kept.references.size()) + parsed->spec.language;
  };
  EXPECT_EQ(left({.speakers = true, .known_speakers = true, .chunking = true}), "|chunking 2de");
  EXPECT_EQ(left({.speakers = true, .language = false}),
            "chunking_strategy, known_speaker_names, known_speaker_references, language|0");
}

TEST(TranscriptionRequests, TranslationsHaveFewerFields) {
  const Parsed parsed = far({{"language", "de"}, {"stream", "true"}, {"timestamp_granularities[]", "word"}},
                            TranscriptionTask::kTranslate);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(parsed->spec.style.translate);
  EXPECT_FALSE(parsed->stream);
  EXPECT_EQ(dropped(parsed), "language, stream, timestamp_granularities%5B%5D");
}

TEST(TranscriptionRequests, WhatAStreamDoesNotCarryIsReported) {
  for (const char* form : {"srt", "vtt", "verbose_json"}) {
    EXPECT_EQ(dropped(local({{"stream", "true"}, {"response_format", form}})), "response_format") << form;
    EXPECT_EQ(dropped(local({{"response_format", form}})), "") << form;
  }
  EXPECT_EQ(
      dropped(far(
          {{"stream", "true"}, {"response_format", "verbose_json"}, {"timestamp_granularities[]", "word"}})),
      "response_format, timestamp_granularities");
  for (const char* form : {"json", "text"})
    EXPECT_EQ(dropped(local({{"stream", "true"}, {"response_format", form}})), "") << form;
}

TEST(TranscriptionRequests, TrueAndFalseAreReadInWhateverCase) {
  for (const char* yes : {"true", "True", "TRUE", "1"}) EXPECT_TRUE(local({{"stream", yes}})->stream) << yes;
  for (const char* no : {"false", "False", "FALSE", "0"}) EXPECT_FALSE(local({{"stream", no}})->stream) << no;
}

TEST(TranscriptionRequests, UnknownModelsNameTheNearest) {
  const Parsed parsed = parse({{"model", "whisper-2"}});
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().error.code, base::Code::kModelNotFound);
  EXPECT_NE(parsed.error().error.message.find("'whisper-1'"), std::string::npos);
  for (const char* name : {"whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"}) {
    const Parsed named = parse({{"model", name}});
    EXPECT_TRUE(named.has_value() && !named->spec.by_provider) << name;
  }
}

TEST(TranscriptionRequests, AStreamIsNotDeferred) {
  EXPECT_EQ(problems(local({{"stream", "true"}, {"deferred", "true"}})), "body.stream value_error");
  EXPECT_TRUE(local({{"deferred", "true"}})->deferred);
}

TEST(TranscriptionSpecs, OfEarlierVersionsMeanSphinx) {
  const auto old = transcription_spec_from_json(R"({"model":"whisper-1","form":"json"})");
  EXPECT_EQ(old->local_model, "millrace/sphinx-en");
  EXPECT_EQ(transcription_spec_from_json(R"({"model":"x","form":"json","by_provider":true})")->local_model,
            "");
  TranscriptionSpec spec;
  spec.model = "whisper-1";
  spec.local_model = "whisper-base";
  EXPECT_EQ(transcription_spec_from_json(to_json(spec))->local_model, "whisper-base");
}

TEST(TranscriptionSpecs, ComeBackAsTheyWereWritten) {
  TranscriptionSpec spec;
  spec.model = "whisper-1";
  spec.file_name = "a \"b\".wav";
  spec.language = "de";
  spec.prompt = "x";
  spec.temperature = 0.5;
  spec.speakers = {
      .chunking = ChunkingStrategy{.server_vad = true, .silence_duration_ms = 5, .threshold = 0.25},
      .names = {"agent"},
      .references = {"data:audio/wav;base64,UklGRg=="}};
  spec.style = {.form = TranscriptFormat::kSrt, .translate = true, .segments = false, .words = true};
  spec.by_provider = true;
  spec.pieces = {{3, 1000, 61'000}, {4, 61'000, 90'000}};
  spec.recording_ms = 90'000;
  const auto read = transcription_spec_from_json(to_json(spec));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_json(*read), to_json(spec));
  EXPECT_TRUE(read->is_share());
  EXPECT_EQ(form_fields(*read->speakers.chunking), form_fields(*spec.speakers.chunking));
  EXPECT_EQ(read->speakers.references, spec.speakers.references);
  EXPECT_FALSE(transcription_spec_from_json(to_json(TranscriptionSpec()))->speakers.chunking.has_value());
  EXPECT_EQ(read->pieces[1].index, 4);
  EXPECT_EQ(read->pieces[1].end_ms, 90'000);
  EXPECT_FALSE(transcription_spec_from_json("{}").has_value());
  EXPECT_FALSE(transcription_spec_from_json(to_json(TranscriptionSpec()))->is_share());
}

}  // namespace
}  // namespace millrace::schemas::transcription_request_test
