#include "schemas/media/transcript.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "schemas/json/json.h"

namespace millrace::schemas::transcript_test {
namespace {

using schemas::Json;

TranscriptSegment segment(double start, double end, std::string text) {
  TranscriptSegment out;
  out.start = start;
  out.end = end;
  out.text = std::move(text);
  out.seek = static_cast<std::int64_t>(start * 100);
  out.tokens = {7, 8};
  out.avg_logprob = -0.25;
  out.compression_ratio = 1.5;
  out.no_speech_prob = 0.125;
  return out;
}

Transcript two_lines() {
  Transcript out;
  out.language = "english";
  out.seconds = 3725.0621;
  out.text = "The mill turns. It never stops.";
  out.segments = {segment(0, 2.5004, " The mill turns."), segment(3723.25, 3725.0621, " It never stops.")};
  out.words = {{"The", 0.1, 0.3}, {"mill", 0.1 + 0.2, 0.6}};
  return out;
}

std::string told(TranscriptFormat form) { return render(two_lines(), {.form = form}); }

TEST(Transcripts, AsTextAreALine) {
  EXPECT_EQ(told(TranscriptFormat::kText), "The mill turns. It never stops.\n");
}

TEST(Transcripts, AsSubRipHaveNumberedCues) {
  EXPECT_EQ(told(TranscriptFormat::kSrt),
            "1\n00:00:00,000 --> 00:00:02,500\nThe mill turns.\n\n"
            "2\n01:02:03,250 --> 01:02:05,062\nIt never stops.\n\n");
}

TEST(Transcripts, AsWebVttBeginWithItsName) {
  EXPECT_EQ(told(TranscriptFormat::kVtt),
            "WEBVTT\n\n00:00:00.000 --> 00:00:02.500\nThe mill turns.\n\n"
            "01:02:03.250 --> 01:02:05.062\nIt never stops.\n\n");
}

TEST(Transcripts, WithoutSegmentsAreOneCue) {
  Transcript plain;
  plain.text = "Hello";
  plain.seconds = 1.5;
  EXPECT_EQ(render(plain, {.form = TranscriptFormat::kSrt}), "1\n00:00:00,000 --> 00:00:01,500\nHello\n\n");
  EXPECT_EQ(render({}, {.form = TranscriptFormat::kSrt}), "");
  EXPECT_EQ(render({}, {.form = TranscriptFormat::kVtt}), "WEBVTT\n\n");
}

TEST(Transcripts, TextCannotEndItsCue) {
  Transcript hostile;
  hostile.segments = {segment(0, 1, "a\n\n9\n00:00:00,000 --> 00:00:09,000\r\nb <i>&")};
  EXPECT_EQ(render(hostile, {.form = TranscriptFormat::kSrt}),
            "1\n00:00:00,000 --> 00:00:01,000\na 9 00:00:00,000 -> 00:00:09,000 b <i>&\n\n");
  EXPECT_EQ(
      render(hostile, {.form = TranscriptFormat::kVtt}),
      "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\na 9 00:00:00,000 --&gt; 00:00:09,000 b &lt;i&gt;&amp;\n\n");
}

TEST(Transcripts, AsJsonHaveLanguageDurationAndUsage) {
  const Json said = Json::parse(told(TranscriptFormat::kJson));
  EXPECT_EQ(said, Json::parse(R"({"text":"The mill turns. It never stops.","language":"english",
                                  "duration":3725.062,"usage":{"type":"duration","seconds":3726}})"));
}

TEST(Transcripts, AsVerboseJsonHaveAllTenFieldsOfASegment) {
  const Json said = Json::parse(render(two_lines(), {.form = TranscriptFormat::kVerboseJson, .words = true}));
  EXPECT_EQ(said["task"], "transcribe");
  ASSERT_EQ(said["segments"].size(), 2u);
  EXPECT_EQ(said["segments"][0],
            Json::parse(R"({"id":0,"seek":0,"start":0.0,"end":2.5,"text":" The mill turns.",
    "tokens":[7,8],"temperature":0.0,"avg_logprob":-0.25,"compression_ratio":1.5,"no_speech_prob":0.125})"));
  EXPECT_EQ(said["segments"][1]["id"], 1);
  EXPECT_EQ(said["segments"][1]["start"], 3723.25);
  EXPECT_EQ(said["words"][1], Json::parse(R"({"word":"mill","start":0.3,"end":0.6})"));
}

TEST(Transcripts, AsVerboseJsonHaveWhatWasAskedFor) {
  const auto keys = [](bool segments, bool words) {
    const Json said = Json::parse(
        render(two_lines(), {.form = TranscriptFormat::kVerboseJson, .segments = segments, .words = words}));
    return std::pair(said.contains("segments"), said.contains("words"));
  };
  EXPECT_EQ(keys(true, false), std::pair(true, false));
  EXPECT_EQ(keys(false, true), std::pair(false, true));
}

TEST(Transcripts, OfATranslationAreEnglish) {
  Transcript german = two_lines();
  german.language = "german";
  const Json said = Json::parse(render(german, {.form = TranscriptFormat::kVerboseJson, .translate = true}));
  EXPECT_EQ(said["language"], "english");
  EXPECT_EQ(said["task"], "translate");
}

TEST(Transcripts, SayWhatIsNotKnown) {
  for (const TranscriptFormat form : {TranscriptFormat::kJson, TranscriptFormat::kVerboseJson})
    EXPECT_EQ(Json::parse(render(two_lines(), {.form = form}, "team/ears"))["model"], "team/ears");
  const Json said = Json::parse(render({}, {.form = TranscriptFormat::kJson}));
  EXPECT_EQ(said, Json::parse(R"({"text":"","language":"unknown","duration":null})"));
  Transcript odd = two_lines();
  odd.seconds = std::numeric_limits<double>::infinity();
  odd.segments[0].avg_logprob = std::nan("");
  const Json odd_transcript = Json::parse(render(odd, {.form = TranscriptFormat::kVerboseJson}));
  EXPECT_EQ(odd_transcript["segments"][0]["avg_logprob"], 0.0);
  EXPECT_FALSE(odd_transcript.contains("usage"));
}

TEST(Transcripts, TextFormsAreTextAndTheOthersJson) {
  EXPECT_EQ(content_type(TranscriptFormat::kJson), "application/json");
  EXPECT_EQ(content_type(TranscriptFormat::kVerboseJson), "application/json");
  for (const TranscriptFormat form :
       {TranscriptFormat::kText, TranscriptFormat::kSrt, TranscriptFormat::kVtt})
    EXPECT_TRUE(content_type(form).starts_with("text/plain"));
}

TEST(Transcripts, ComeBackFromTheStoreAsTheyWent) {
  const TranscriptStyle style{
      .form = TranscriptFormat::kVtt, .translate = true, .segments = false, .words = true};
  const auto read = stored_transcript(to_json(two_lines(), style));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->style.form, TranscriptFormat::kVtt);
  EXPECT_TRUE(read->style.translate && read->style.words);
  EXPECT_FALSE(read->style.segments);
  EXPECT_EQ(to_json(read->transcript, read->style), to_json(two_lines(), style));
  EXPECT_FALSE(stored_transcript("{}").has_value());
  EXPECT_FALSE(stored_transcript("no json").has_value());
}

TEST(Transcripts, OfPiecesAreJoinedInOrder) {
  TranscriptPiece first{{segment(0, 1, " The mill turns.")}, {{"The", 0, 0.1}}, std::nullopt};
  TranscriptPiece failed;
  failed.error = base::error(base::Code::kPieceTimeout, "too long");
  TranscriptPiece last{{segment(5, 6, "It never stops.")}, {}, std::nullopt};
  const Transcript whole = join({first, failed, last}, "english", 6.5);
  EXPECT_EQ(whole.text, "The mill turns. It never stops.");
  EXPECT_EQ(whole.segments.size(), 2u);
  EXPECT_EQ(whole.words.size(), 1u);
  EXPECT_EQ(whole.language, "english");
  EXPECT_EQ(whole.seconds, 6.5);
  EXPECT_EQ(join({}, "", std::nullopt).text, "");
}

TEST(Transcripts, OfOnePieceHaveItsLanguageAndItsLength) {
  TranscriptPiece piece{{segment(0, 2, "Die M\u00fchle.")}, {}, std::nullopt, "german", 2.5};
  const auto read = piece_from_json(to_json(piece));
  ASSERT_TRUE(read.has_value());
  const Transcript whole = join({*read}, "de", std::nullopt);
  EXPECT_EQ(whole.language, "german");
  EXPECT_EQ(whole.seconds, 2.5);
}

TEST(SpokenPieces, ComeBackAsTheyWereWritten) {
  TranscriptPiece piece{{segment(1.25, 2.5, "\"quoted\" and \xc3\xa9")}, {{"a", 1.25, 1.5}}, std::nullopt};
  const auto read = piece_from_json(to_json(piece));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_json(*read), to_json(piece));
  EXPECT_FALSE(read->error.has_value());
  piece = {{}, {}, base::error(base::Code::kPieceFailed, "the piece could not be recognised")};
  const auto failed = piece_from_json(to_json(piece));
  ASSERT_TRUE(failed.has_value() && failed->error.has_value());
  EXPECT_EQ(failed->error->code, base::Code::kPieceFailed);
  EXPECT_EQ(failed->error->message, "the piece could not be recognised");
  EXPECT_FALSE(piece_from_json("[]").has_value());
}

// "Hello." by A, "<Hi> & bye." by "R&D", a segment without a speaker.
Transcript of_two_speakers() {
  Transcript out{"english", 4.25, "Hello. <Hi> & bye. Yes.", {}, {}};
  out.segments = {segment(0, 1.5, " Hello."), segment(1.5, 3, "<Hi> & bye."), segment(3, 4, "Yes.")};
  out.segments[0].speaker = "A";
  out.segments[1].speaker = "R&D";
  return out;
}

TEST(TranscriptSpeakers, AreInADiarizedReply) {
  const Transcript transcript = of_two_speakers();
  const Json reply = Json::parse(render(transcript, {.form = TranscriptFormat::kDiarizedJson}, "m"));
  EXPECT_EQ(reply["task"], "transcribe");
  EXPECT_EQ(reply["duration"], 4.25);
  EXPECT_EQ(reply["text"], transcript.text);
  EXPECT_EQ(reply["usage"], Json::parse(R"({"type":"duration","seconds":5})"));
  ASSERT_EQ(reply["segments"].size(), 3u);
  EXPECT_EQ(reply["segments"][1],
            Json::parse(R"({"type":"transcript.text.segment","id":"seg_1","start":1.5,"end":3.0,)"
                        R"("text":"<Hi> & bye.","speaker":"R&D"})"));
  EXPECT_EQ(reply["segments"][2]["speaker"], "");
  EXPECT_EQ(Json::parse(diarized_segment(transcript.segments[1], 1)), reply["segments"][1]);
  EXPECT_EQ(content_type(TranscriptFormat::kDiarizedJson), "application/json");
}

TEST(TranscriptSpeakers, AreNamedInSubtitles) {
  EXPECT_EQ(render(of_two_speakers(), {.form = TranscriptFormat::kSrt}),
            "1\n00:00:00,000 --> 00:00:01,500\nA: Hello.\n\n"
            "2\n00:00:01,500 --> 00:00:03,000\nR&D: <Hi> & bye.\n\n"
            "3\n00:00:03,000 --> 00:00:04,000\nYes.\n\n");
  EXPECT_EQ(render(of_two_speakers(), {.form = TranscriptFormat::kVtt}),
            "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\n<v A>Hello.\n\n"
            "00:00:01.500 --> 00:00:03.000\n<v R&amp;D>&lt;Hi&gt; &amp; bye.\n\n"
            "00:00:03.000 --> 00:00:04.000\nYes.\n\n");
}

TEST(TranscriptSpeakers, AreStoredWithTheirSegments) {
  const TranscriptStyle style{.form = TranscriptFormat::kDiarizedJson};
  const auto stored = stored_transcript(to_json(of_two_speakers(), style));
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->style.form, TranscriptFormat::kDiarizedJson);
  EXPECT_EQ(stored->transcript.segments[1].speaker, "R&D");
  const auto piece = piece_from_json(to_json(TranscriptPiece{of_two_speakers().segments, {}, std::nullopt}));
  ASSERT_TRUE(piece.has_value());
  EXPECT_EQ(piece->segments[0].speaker, "A");
  EXPECT_TRUE(has_speakers(join({*piece}, "", std::nullopt)));
  EXPECT_FALSE(has_speakers(two_lines()));
}

TEST(TranscriptForms, NamesRoundTrip) {
  for (const TranscriptFormat form :
       {TranscriptFormat::kJson, TranscriptFormat::kText, TranscriptFormat::kSrt, TranscriptFormat::kVtt,
        TranscriptFormat::kVerboseJson, TranscriptFormat::kDiarizedJson})
    EXPECT_EQ(transcript_format_named(name(form)), form);
  EXPECT_FALSE(transcript_format_named("docx"));
}

}  // namespace
}  // namespace millrace::schemas::transcript_test
