#pragma once
#include <cstdint>
#include <memory>

#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "schemas/audio_format.h"

namespace millrace::engines {

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
