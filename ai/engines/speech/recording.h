#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "schemas/media/audio_format.h"
#include "schemas/media/transcription.h"

namespace millrace::engines {

// Maximum length of a piece. A piece is recognised as a whole, in memory. PocketSphinx adapts to a voice in
// long pieces. Models are made for at most half a minute, and their memory grows with the piece: with 20 s,
// one process needs less than 700 MB.
inline constexpr std::int64_t kPieceMsMax = 60'000;
inline constexpr std::int64_t kModelPieceMsMax = 20'000;

// Result of inspecting a recording inside the jail: its length and its pieces, cut at pauses.
struct RecordingInfo {
  std::int64_t ms = 0;
  std::vector<schemas::AudioPiece> pieces;  // in order, without gaps; empty: only silence
};

// A piece in which an engine child finds more voices, or longer vectors, is not accepted: the memory and time
// to compare them would grow. Models have 192 to 512 dimensions.
inline constexpr std::size_t kPieceVoicesMax = 64;
inline constexpr std::size_t kVoiceDimensionsMax = 4'096;

// One piece of a recording, recognised or failed (kPieceFailed, kPieceTimeout).
struct PieceOutcome {
  int index = 0;
  schemas::TranscriptPiece piece;
  std::chrono::milliseconds cpu{0};              // processor time since the last piece
  std::optional<base::Error> voices_error = {};  // why a recognised piece has no voices, for the operator
};

// A recording for the engines: an open descriptor of its bytes (a blob), never a path. Immutable. Share it
// between calls, so that an engine child copies it only once. Thread-safe.
class Recording {
 public:
  // `fd`: a regular file opened for reading. `owner`: its tenant. Checks its size and first bytes (blocks for
  // one read). kAudioEmpty, kAudioTooLarge (above schemas::kAudioBytesMax), kAudioUnsupported.
  static base::Result<std::shared_ptr<const Recording>> from(base::Fd fd, std::string owner);

  int fd() const { return fd_.get(); }
  const std::string& owner() const { return owner_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  schemas::AudioFormat format() const { return format_; }

 private:
  Recording(base::Fd fd, std::string owner, std::uint64_t size_bytes, schemas::AudioFormat format);
  base::Fd fd_;
  std::string owner_;
  std::uint64_t size_bytes_;
  schemas::AudioFormat format_;
};

}  // namespace millrace::engines
