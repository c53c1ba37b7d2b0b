#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "ai/engines/host/audio/decode.h"
#include "ai/engines/host/audio/piece_recogniser.h"
#include "ai/engines/speech/recording.h"
#include "platform/base/fd.h"

namespace millrace::engines::host {

// Callbacks for the pieces.
struct PieceSink {
  std::function<void(const schemas::AudioPiece&)> begin;  // work on this piece begins
  std::function<void(PieceOutcome)> piece;                // once per piece
};

// The current recording: its file, decoded for each request and never held decoded as a whole. Not
// thread-safe.
class RecordingReader {
 public:
  RecordingReader(const Tools& tools, const EngineLimits& limits) : tools_(tools), limits_(limits) {}

  // kInternal: `fd` is empty (the gateway could not copy the recording).
  base::Status open(base::Fd fd, schemas::AudioFormat format);

  // Returns its length and its pieces, none of them longer than `piece_ms_max`. Errors of Decoder.
  base::Result<RecordingInfo> inspect_recording(std::int64_t piece_ms_max);
  // Reports every piece once, or fails as a whole.
  base::Status transcribe(std::vector<schemas::AudioPiece> pieces, PieceRecogniser& recogniser,
                          const PieceSink& sink);

 private:
  static PieceOutcome not_recognised(const schemas::AudioPiece& piece, const base::Error& why);
  static base::Result<PieceOutcome> recognise(PieceRecogniser& recogniser, const schemas::AudioPiece& piece,
                                              std::span<const std::int16_t> samples);

  const Tools& tools_;
  const EngineLimits& limits_;
  base::Fd file_;
  std::optional<Decoder> decoder_;
};

}  // namespace millrace::engines::host
