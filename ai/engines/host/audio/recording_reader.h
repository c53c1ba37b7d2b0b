#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "ai/engines/host/audio/decode.h"
#include "ai/engines/host/audio/listener.h"
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
  RecordingReader(const Tools& tools, const EngineLimits& limits, SpeechRecogniser& listener)
      : tools_(tools), limits_(limits), listener_(listener) {}

  // kInternal: `fd` is empty (the gateway could not copy the recording).
  base::Status open(base::Fd fd, schemas::AudioFormat format);

  // Returns its length and its pieces. Errors of Decoder.
  base::Result<RecordingInfo> inspect_recording();
  // Reports every piece once, or fails as a whole.
  base::Status transcribe(std::vector<schemas::AudioPiece> pieces, const PieceSink& sink);

 private:
  static PieceOutcome not_recognised(const schemas::AudioPiece& piece, const base::Error& why);
  base::Result<PieceOutcome> recognise(const schemas::AudioPiece& piece,
                                       std::span<const std::int16_t> samples);

  const Tools& tools_;
  const EngineLimits& limits_;
  SpeechRecogniser& listener_;
  base::Fd file_;
  std::optional<Decoder> decoder_;
};

}  // namespace millrace::engines::host
