#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ai/engines/host/audio/piece_recogniser.h"
#include "ai/engines/host/audio/speaker_turns.h"
#include "ai/engines/host/audio/speech_library.h"
#include "platform/base/result.h"
#include "schemas/media/transcript.h"

namespace millrace::engines::host {

// Who speaks when in a piece.
struct PieceSpeakers {
  std::vector<SpeakerTurn> turns;
  std::vector<schemas::Voice> voices;
};

// Tells the speakers of a piece apart, with the files `segmentation` and `embedding` of the current model of
// a SpeechLibrary. Each call loads them (0.4 s) in a copy of this process, like SpeechLibrary::recognise, and
// has its errors. Not thread-safe.
class SpeakerFinder {
 public:
  // `library` must outlive it.
  explicit SpeakerFinder(SpeechLibrary& library);
  ~SpeakerFinder();
  SpeakerFinder(const SpeakerFinder&) = delete;
  SpeakerFinder& operator=(const SpeakerFinder&) = delete;

  // Sounds of less than 0.3 s belong to nobody.
  base::Result<PieceSpeakers> find(const PieceSound& sound);
  // The voice of one person who speaks alone. 16 kHz, mono.
  base::Result<schemas::Voice> voice_in(std::span<const std::int16_t> samples);

 private:
  struct Functions;
  base::Status load_functions();

  SpeechLibrary& library_;
  std::unique_ptr<Functions> functions_;
};

// Recognises a piece with another recogniser, and sets the voices of its segments. If the speakers of a piece
// cannot be told apart, also for lack of memory, it has none.
class RecogniserOfSpeakers final : public PieceRecogniser {
 public:
  // Both must outlive it.
  RecogniserOfSpeakers(PieceRecogniser& texts, SpeakerFinder& speakers)
      : texts_(texts), speakers_(speakers) {}
  base::Result<schemas::TranscriptPiece> recognise(const PieceSound& sound) override;
  // Why the last piece has no voices; empty: it has some, there was nothing to find, or it is taken already.
  std::optional<base::Error> take_voices_error() { return std::exchange(voices_error_, std::nullopt); }

 private:
  PieceRecogniser& texts_;
  SpeakerFinder& speakers_;
  std::optional<base::Error> voices_error_;
};

// Finds the voice of a sound in which one person speaks: the piece's only one. It has no text.
class RecogniserOfVoices final : public PieceRecogniser {
 public:
  // `speakers` must outlive it.
  explicit RecogniserOfVoices(SpeakerFinder& speakers) : speakers_(speakers) {}
  base::Result<schemas::TranscriptPiece> recognise(const PieceSound& sound) override;

 private:
  SpeakerFinder& speakers_;
};

}  // namespace millrace::engines::host
