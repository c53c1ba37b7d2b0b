#include "ai/engines/speech/recording.h"

#include <sys/stat.h>
#include <unistd.h>

#include "schemas/media/transcription.h"

namespace millrace::engines {

Recording::Recording(base::Fd fd, std::string owner, std::uint64_t size_bytes, schemas::AudioFormat format)
    : fd_(std::move(fd)), owner_(std::move(owner)), size_bytes_(size_bytes), format_(format) {}

base::Result<std::shared_ptr<const Recording>> Recording::from(base::Fd fd, std::string owner) {
  using base::Code;
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return base::error(Code::kInternal, "the recording's bytes cannot be read");
  }
  if (status.st_size == 0) return base::error(Code::kAudioEmpty, "the recording is empty");
  if (status.st_size > schemas::kAudioBytesMax) {
    return base::error(Code::kAudioTooLarge, "the recording is larger than " +
                                                 std::to_string(schemas::kAudioBytesMax >> 20) +
                                                 " MB: send it in parts, or compress it");
  }
  char head[schemas::kAudioHeadBytes];
  const ssize_t count = ::pread(fd.get(), head, sizeof head, 0);
  if (count <= 0) return base::error(Code::kInternal, "the recording's bytes cannot be read");
  const auto format = schemas::detect_audio({head, static_cast<std::size_t>(count)});
  if (!format) {
    return base::error(Code::kAudioUnsupported,
                       "the first bytes are not those of a supported recording; supported are " +
                           std::string(schemas::audio_format_names()));
  }
  return std::shared_ptr<const Recording>(
      new Recording(std::move(fd), std::move(owner), static_cast<std::uint64_t>(status.st_size), *format));
}

}  // namespace millrace::engines
