#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "schemas/media/transcript.h"

namespace millrace::schemas {

// A person whose voice is known, from a recording of 2 to 10 s.
struct KnownSpeaker {
  std::string name;
  std::vector<float> embedding;
};

// Two voices belong to one person if the cosine of the angle between them is at least this (ADR 52).
inline constexpr double kSameSpeakerSimilarity = 0.6;
// The recording of a known speaker was perhaps made with another microphone: the most similar person gets the
// name from this on. Others get the same name only from kSameSpeakerSimilarity on.
inline constexpr double kKnownSpeakerSimilarity = 0.5;
// The voice of a short sound is not accurate. It forms no speaker of its own if it is this similar to one.
inline constexpr double kShortVoiceSeconds = 2;
inline constexpr double kShortVoiceSimilarity = 0.4;
// Only so many voices are compared with each other: those that speak longest. Each of the others joins the
// speaker that it is most similar to. The comparison takes 4 bytes for each pair.
inline constexpr std::size_t kComparedVoicesMax = 1'000;
// With so many speakers, a further voice joins the most similar one.
inline constexpr std::size_t kSpeakersMax = 1'000;

// Finds out which voices of the pieces belong to one person, and sets `speaker` of each segment that has a
// voice: the name of the known speaker who is most similar, or a label (A, B … Z, AA …) in the order in which
// they begin to speak. A voice without an embedding, or with one of another length, gets no speaker.
void name_speakers(std::vector<TranscriptPiece>& pieces, const std::vector<KnownSpeaker>& known);

}  // namespace millrace::schemas
