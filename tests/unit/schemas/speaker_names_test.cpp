#include "schemas/media/speaker_names.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace millrace::schemas {
namespace {

// A voice at that angle, in degrees.
std::vector<float> at(double degrees) {
  const double angle = degrees * std::acos(-1.0) / 180;
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

struct Spoken {
  double degrees;
  double seconds = 5;
};

// A piece in which each of the voices says one segment.
TranscriptPiece piece_with(const std::vector<Spoken>& voices) {
  TranscriptPiece piece;
  for (const Spoken& each : voices) {
    TranscriptSegment segment;
    segment.text = "Yes.";
    segment.voice = static_cast<int>(piece.voices.size());
    piece.segments.push_back(segment);
    piece.voices.push_back({at(each.degrees), each.seconds});
  }
  return piece;
}

std::string speakers_of(std::vector<TranscriptPiece> pieces, const std::vector<KnownSpeaker>& known = {}) {
  name_speakers(pieces, known);
  std::string all;
  for (const TranscriptPiece& piece : pieces) {
    for (const TranscriptSegment& segment : piece.segments)
      all += (all.empty() ? "" : " ") + (segment.speaker.empty() ? "-" : segment.speaker);
  }
  return all;
}

TEST(SpeakerNames, OnePersonHasOneLabelInAllPieces) {
  EXPECT_EQ(speakers_of({piece_with({{0}, {90}}), piece_with({{95}, {200}}), piece_with({{5}})}),
            "A B B C A");
}

TEST(SpeakerNames, LabelsAreInTheOrderOfTheirFirstSegments) {
  TranscriptPiece piece = piece_with({{0}, {90}});
  std::swap(piece.segments[0], piece.segments[1]);
  EXPECT_EQ(speakers_of({piece}), "A B");
}

TEST(SpeakerNames, OnePieceMayHaveOnePersonTwice) {
  EXPECT_EQ(speakers_of({piece_with({{0}, {20}})}), "A A");
}

TEST(SpeakerNames, VoicesThatAreNotSimilarEnoughAreTwoPersons) {
  const double limit = std::acos(kSameSpeakerSimilarity) * 180 / std::acos(-1.0);
  EXPECT_EQ(speakers_of({piece_with({{0}, {limit - 1}})}), "A A");
  EXPECT_EQ(speakers_of({piece_with({{0}, {limit + 1}})}), "A B");
}

TEST(SpeakerNames, AChainOfVoicesIsNotOnePerson) {
  // Neighbours are similar; the mean over all pairs is not.
  EXPECT_EQ(speakers_of({piece_with({{0}, {45}, {95}, {140}})}), "A A B B");
}

TEST(SpeakerNames, LongSpeechCountsMoreThanShort) {
  // The third is similar to what the first person says in 3 s, but not to what he says in a minute.
  EXPECT_EQ(speakers_of({piece_with({{0, 60}, {30, 3}, {60, 5}})}), "A A B");
  EXPECT_EQ(speakers_of({piece_with({{0, 5}, {30, 5}, {60, 5}})}), "A A A");
}

TEST(SpeakerNames, AShortSoundJoinsASpeakerThatIsRoughlySimilar) {
  EXPECT_EQ(speakers_of({piece_with({{0}, {65, 1}})}), "A A");
  EXPECT_EQ(speakers_of({piece_with({{0}, {65}})}), "A B");
  EXPECT_EQ(speakers_of({piece_with({{0}, {85, 1}})}), "A B");
  EXPECT_EQ(speakers_of({piece_with({{85, 1}}), piece_with({{90, 1}}), piece_with({{180}})}), "A A B");
}

TEST(SpeakerNames, KnownSpeakersHaveTheirNames) {
  const std::vector<KnownSpeaker> known{{"Ann", at(90)}, {"Bob", at(200)}};
  EXPECT_EQ(speakers_of({piece_with({{0}, {100}}), piece_with({{2}, {85}})}, known), "A Ann A Ann");
}

TEST(SpeakerNames, AKnownSpeakerMayBeRecordedInAnotherWay) {
  const double degrees =
      std::acos((kKnownSpeakerSimilarity + kSameSpeakerSimilarity) / 2) * 180 / std::acos(-1.0);
  EXPECT_EQ(speakers_of({piece_with({{0}, {180}})}, {{"Ann", at(degrees)}}), "Ann A");
}

TEST(SpeakerNames, AKnownNameIsGivenToTheMostSimilarPersonOnly) {
  // Both are similar enough to the known speaker: cos 55° = 0.57, cos 50° = 0.64.
  EXPECT_EQ(speakers_of({piece_with({{-55}, {50}})}, {{"Ann", at(0)}}), "A Ann");
  EXPECT_EQ(speakers_of({piece_with({{58}, {-55}})}, {{"Ann", at(0)}}), "A Ann");
}

TEST(SpeakerNames, TwoGroupsThatAreAsSimilarAsOnePersonHaveOneKnownName) {
  EXPECT_EQ(speakers_of({piece_with({{-48}, {50}})}, {{"Ann", at(0)}}), "Ann Ann");
}

TEST(SpeakerNames, EachKnownNameFindsItsPerson) {
  // The first is nearer to Ann than to Bob, but Ann is another.
  EXPECT_EQ(speakers_of({piece_with({{55}, {-30}})}, {{"Ann", at(0)}, {"Bob", at(113)}}), "Bob Ann");
}

TEST(SpeakerNames, ALabelThatIsAKnownNameIsNotGivenToAnother) {
  EXPECT_EQ(speakers_of({piece_with({{0}, {90}})}, {{"A", at(90)}}), "B A");
}

TEST(SpeakerNames, WhatHasNoVoiceHasNoSpeaker) {
  TranscriptPiece piece = piece_with({{0}, {0}, {0}, {0}});
  piece.segments[0].voice = TranscriptSegment::kNoVoice;
  piece.segments[1].voice = 9;
  piece.voices[2].embedding = {1, 2, 3};
  piece.voices[3].embedding = {0, 0};
  EXPECT_EQ(speakers_of({piece}), "- - - -");
  EXPECT_EQ(speakers_of({}), "");
}

TEST(SpeakerNames, ThereAreMoreThanTwentySixSpeakers) {
  std::vector<TranscriptPiece> pieces(1);
  for (int i = 0; i < 28; ++i) {
    TranscriptSegment segment;
    segment.voice = i;
    pieces[0].segments.push_back(segment);
    std::vector<float> embedding(28);
    embedding[static_cast<std::size_t>(i)] = 1;
    pieces[0].voices.push_back({embedding, 5});
  }
  name_speakers(pieces, {});
  EXPECT_EQ(pieces[0].segments[25].speaker, "Z");
  EXPECT_EQ(pieces[0].segments[26].speaker, "AA");
  EXPECT_EQ(pieces[0].segments[27].speaker, "AB");
}

TEST(SpeakerNames, MoreVoicesThanAreComparedJoinTheNearestSpeaker) {
  std::vector<TranscriptPiece> pieces;
  for (std::size_t i = 0; i < kComparedVoicesMax; ++i)
    pieces.push_back(piece_with({{i % 2 == 0 ? 0.0 : 90.0}}));
  pieces.push_back(piece_with({{88, 3}, {1, 3}}));
  name_speakers(pieces, {});
  EXPECT_EQ(pieces.back().segments[0].speaker, "B");
  EXPECT_EQ(pieces.back().segments[1].speaker, "A");
}

TEST(SpeakerNames, ThereAreNotMoreSpeakersThanTheirLimit) {
  std::vector<TranscriptPiece> pieces(1);
  for (std::size_t i = 0; i < kSpeakersMax + 2; ++i) {
    TranscriptSegment segment;
    segment.voice = static_cast<int>(i);
    pieces[0].segments.push_back(segment);
    std::vector<float> embedding(kSpeakersMax + 2);
    embedding[i] = 1;
    pieces[0].voices.push_back({embedding, 1});
  }
  name_speakers(pieces, {});
  std::set<std::string> speakers;
  for (const TranscriptSegment& segment : pieces[0].segments) speakers.insert(segment.speaker);
  EXPECT_EQ(speakers.size(), kSpeakersMax);
  EXPECT_FALSE(speakers.contains(""));
}

TEST(SpeakerNames, VoicesAreStoredWithTheirPiece) {
  const TranscriptPiece piece = piece_with({{30}, {60, 2.5}});
  const auto read = piece_from_json(to_json(piece));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->voices.size(), 2u);
  EXPECT_EQ(read->voices[1].embedding, piece.voices[1].embedding);
  EXPECT_EQ(read->voices[1].seconds, 2.5);
  EXPECT_EQ(read->segments[1].voice, 1);
}

TEST(SpeakerNames, AVoiceWithoutNumbersLeavesTheTextOfItsPiece) {
  for (const float bad : {NAN, INFINITY}) {
    TranscriptPiece piece = piece_with({{30}, {120}});
    piece.voices[0].embedding[1] = bad;
    const auto read = piece_from_json(to_json(piece));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->voices.size(), 2u);
    EXPECT_TRUE(read->voices[0].embedding.empty());
    EXPECT_EQ(text_of(*read), "Yes. Yes.");
    EXPECT_EQ(speakers_of({*read}), "- A");
  }
}

}  // namespace
}  // namespace millrace::schemas
