#include "ai/engines/host/audio/speaker_turns.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace::engines::host {
namespace {

schemas::TranscriptSegment segment(double start, double end, const std::string& text) {
  schemas::TranscriptSegment made;
  made.start = start;
  made.end = end;
  made.text = text;
  made.avg_logprob = -0.5;
  return made;
}

// "0-2 A: Yes. 2-4 B: No." for each segment of the piece.
std::string marked(schemas::TranscriptPiece piece, const std::vector<SpeakerTurn>& turns) {
  set_voices(piece, turns);
  std::string all;
  for (const schemas::TranscriptSegment& each : piece.segments) {
    const auto tenth = [](double seconds) { return std::to_string(static_cast<int>(seconds * 10 + 0.5)); };
    all += (all.empty() ? "" : "|") + tenth(each.start) + "-" + tenth(each.end) + " " +
           std::to_string(each.voice) + " " + each.text;
  }
  return all;
}

const schemas::TranscriptPiece kTimed{
    {segment(0, 4, "Is it? No, never."), segment(5, 6, "Good.")},
    {{"Is", 0, 0.5}, {"it?", 0.5, 1}, {"No,", 2, 3}, {"never.", 3, 4}, {"Good.", 5, 6}},
    std::nullopt};

TEST(SpeakerTurns, ASegmentIsCutWhereTheVoiceChanges) {
  EXPECT_EQ(marked(kTimed, {{0, 1.2, 1}, {1.8, 6, 0}}), "0-10 1 Is it?|20-40 0 No, never.|50-60 0 Good.");
}

TEST(SpeakerTurns, ASegmentOfOneVoiceStaysWhole) {
  EXPECT_EQ(marked(kTimed, {{0, 4.4, 0}, {4.6, 6, 1}}), "0-40 0 Is it? No, never.|50-60 1 Good.");
}

TEST(SpeakerTurns, AWordBelongsToTheVoiceThatSpeaksMostOfIt) {
  EXPECT_EQ(marked(kTimed, {{0, 2.4, 0}, {2.4, 6, 1}}), "0-10 0 Is it?|20-40 1 No, never.|50-60 1 Good.");
  EXPECT_EQ(marked(kTimed, {{0, 2.6, 0}, {2.6, 6, 1}}), "0-30 0 Is it? No,|30-40 1 never.|50-60 1 Good.");
}

TEST(SpeakerTurns, WhileTwoSpeakTheFirstOneGoesOn) {
  EXPECT_EQ(marked(kTimed, {{0, 6, 1}, {2, 4, 0}}), "0-40 1 Is it? No, never.|50-60 1 Good.");
}

TEST(SpeakerTurns, WordsOutsideOfTurnsBelongToTheNearest) {
  EXPECT_EQ(marked(kTimed, {{0, 0.9, 0}, {4, 4.5, 1}}), "0-10 0 Is it?|20-40 1 No, never.|50-60 1 Good.");
}

TEST(SpeakerTurns, WithoutWordTimesASegmentHasTheVoiceOfMostOfItsTime) {
  schemas::TranscriptPiece untimed = kTimed;
  untimed.words.clear();
  EXPECT_EQ(marked(untimed, {{0, 1.2, 1}, {1.8, 6, 0}}), "0-40 0 Is it? No, never.|50-60 0 Good.");
}

TEST(SpeakerTurns, ASegmentWhoseWordsDoNotFitItsTextIsNotCut) {
  schemas::TranscriptPiece other = kTimed;
  other.segments[0].text = "Is it? No.";
  EXPECT_EQ(marked(other, {{0, 1.2, 1}, {1.8, 6, 0}}), "0-40 0 Is it? No.|50-60 0 Good.");
}

TEST(SpeakerTurns, WithoutTurnsThereAreNoVoices) {
  EXPECT_EQ(marked(kTimed, {}), "0-40 -1 Is it? No, never.|50-60 -1 Good.");
}

TEST(SpeakerTurns, PartsKeepTheMeasuresAndHaveTheirOwnPlace) {
  schemas::TranscriptPiece piece = kTimed;
  const std::vector<SpeakerTurn> turns{{0, 1.2, 1}, {1.8, 6, 0}};
  set_voices(piece, turns);
  EXPECT_EQ(piece.segments[1].avg_logprob, -0.5);
  EXPECT_EQ(piece.segments[1].seek, 200);
}

}  // namespace
}  // namespace millrace::engines::host
