#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "ai/engines/host/tool.h"
#include "ai/engines/limits.h"
#include "platform/base/result.h"
#include "schemas/media/audio_format.h"

namespace millrace::engines::host {

// True if a recording declares more bytes than the file has, so that it was truncated. Checks the RIFF size
// of a wav, the Xing or Info frame of an mp3, the boxes of an mp4, the segment of a webm. Headers of streams,
// whose writer did not know the final length, declare nothing; nor do the other formats. A small difference
// is accepted, because writers count differently.
bool declares_more_bytes(int fd, schemas::AudioFormat format);

inline constexpr int kSampleRate = 16'000;  // input of the recogniser, 16 bit mono
inline constexpr int kSamplesPerMs = kSampleRate / 1000;

// Converts a recording into samples with ffmpeg, which runs under its own CPU and memory limits. ffmpeg gets
// the format that we detected from the bytes: it does not guess, and does not open other files that the
// recording refers to.
class Decoder {
 public:
  // `recording_fd`: can be reopened by its path in /proc/self/fd; borrowed.
  Decoder(const Tools& tools, const EngineLimits& limits, int recording_fd, schemas::AudioFormat format)
      : tools_(tools), limits_(limits), recording_fd_(recording_fd), format_(format) {}

  // The declared length of the recording, for formats that count samples (flac); the timestamps of others may
  // skip parts that were never recorded. nullopt: not declared.
  using DeclaredLength = std::optional<std::chrono::duration<double>>;
  // Reads only the header. kAudioDamaged: it cannot be read, it has no audio track, or it declares more bytes
  // than there are. kAudioUnsupported: unsupported channels or sample rate. kAudioTooLong: according to the
  // declared length.
  base::Result<DeclaredLength> look() const;

  using Take = std::function<bool(std::span<const std::int16_t>)>;
  // Passes the samples to `take`, in order, until it returns false or the recording ends. Returns the number
  // of samples. A truncated recording yields what can be decoded. kAudioDamaged: nothing can be decoded.
  // kAudioTooLong.
  base::Result<std::int64_t> decode(const Take& take) const;

 private:
  base::Error too_long() const;
  base::Result<DeclaredLength> checked(std::string_view ffprobe_json) const;

  const Tools& tools_;
  const EngineLimits& limits_;
  int recording_fd_;
  schemas::AudioFormat format_;
};

}  // namespace millrace::engines::host
