#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "schemas/media/audio_format.h"
#include "schemas/media/transcription.h"

namespace millrace::engines {

// No piece is longer: it is recognised as a whole, in memory.
inline constexpr std::int64_t kPieceMsMax = 60'000;

// What a look into a recording, inside the jail, tells: its length, and where it is cut at pauses.
struct RecordingInfo {
  std::int64_t ms = 0;
  std::vector<schemas::AudioPiece> pieces;  // in order, without gaps; empty: silence alone
};

// One piece of a recording, recognised or failed (kPieceFailed, kPieceTimeout).
struct PieceOutcome {
  int index = 0;
  schemas::SpokenPiece piece;
};

// One recording as the engines take it: an open descriptor on its bytes (a blob), never a path. Immutable;
// share it between calls, so that an engine child decodes it once. Thread-safe.
class Recording {
 public:
  // `fd`: a regular file opened for reading. Looks at its size and first bytes (blocks for one read).
  // kAudioEmpty, kAudioTooLarge (above schemas::kAudioBytesMax), kAudioUnsupported.
  static base::Result<std::shared_ptr<const Recording>> from(base::Fd fd);

  int fd() const { return fd_.get(); }
  std::uint64_t size_bytes() const { return size_bytes_; }
  schemas::AudioFormat format() const { return format_; }

 private:
  Recording(base::Fd fd, std::uint64_t size_bytes, schemas::AudioFormat format);
  base::Fd fd_;
  std::uint64_t size_bytes_;
  schemas::AudioFormat format_;
};

}  // namespace millrace::engines
