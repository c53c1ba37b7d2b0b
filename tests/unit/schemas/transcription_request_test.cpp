#include "schemas/media/transcription_request.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::schemas::transcription_request_test {
namespace {

using Parsed = tl::expected<TranscriptionRequest, Refusal>;

Parsed parse(QueryPairs fields, TranscriptionTask task = TranscriptionTask::kTranscribe,
             bool has_file = true) {
  return parse_transcription_request(
      task, fields, has_file, [](const std::string& model) { return model == "groq/whisper-large-v3"; });
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

TEST(TranscriptionRequests, WhatIsNotSentToTheModelIsReported) {
  EXPECT_EQ(dropped(local({{"prompt", "x"}, {"temperature", "0.5"}, {"speed", "2"}})),
            "prompt, temperature, speed");
  EXPECT_EQ(dropped(local({{"temperature", "0"}})), "");
  EXPECT_EQ(dropped(far({{"prompt", "x"}, {"include[]", "logprobs"}, {"chunking_strategy", "auto"}})),
            "include, chunking_strategy");
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

TEST(TranscriptionSpecs, ComeBackAsTheyWereWritten) {
  TranscriptionSpec spec;
  spec.model = "whisper-1";
  spec.file_name = "a \"b\".wav";
  spec.language = "de";
  spec.prompt = "x";
  spec.temperature = 0.5;
  spec.style = {.form = TranscriptFormat::kSrt, .translate = true, .segments = false, .words = true};
  spec.by_provider = true;
  spec.pieces = {{3, 1000, 61'000}, {4, 61'000, 90'000}};
  spec.recording_ms = 90'000;
  const auto read = transcription_spec_from_json(to_json(spec));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_json(*read), to_json(spec));
  EXPECT_TRUE(read->is_share());
  EXPECT_EQ(read->pieces[1].index, 4);
  EXPECT_EQ(read->pieces[1].end_ms, 90'000);
  EXPECT_FALSE(transcription_spec_from_json("{}").has_value());
  EXPECT_FALSE(transcription_spec_from_json(to_json(TranscriptionSpec()))->is_share());
}

}  // namespace
}  // namespace millrace::schemas::transcription_request_test
