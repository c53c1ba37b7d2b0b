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

// True if a recording tells of more bytes than the file has, so that it was cut off: the RIFF size of a wav,
// the Xing or Info frame of an mp3, the boxes of an mp4, the segment of a webm. Heads of streams, whose
// writer did not know how long they would become, tell nothing; nor do the other formats. A little less is
// let pass, for writers count differently.
bool declares_more_bytes(int fd, schemas::AudioFormat format);

inline constexpr int kSampleRate = 16'000;  // what the recogniser hears, 16 bit mono
inline constexpr int kSamplesPerMs = kSampleRate / 1000;

// Turns a recording into samples, by ffmpeg under its own bounds of CPU and memory. ffmpeg is told the format
// that our own look at the bytes found: it guesses nothing, and follows no file into another.
class Decoder {
 public:
  // `copy_fd`: a file in memory; borrowed.
  Decoder(const Tools& tools, const EngineLimits& limits, int copy_fd, schemas::AudioFormat format)
      : tools_(tools), limits_(limits), copy_fd_(copy_fd), format_(format) {}

  // The length of the sound that a recording tells of itself, where its format counts samples (flac): times
  // of others may leap over what was never recorded. None: it does not tell.
  using DeclaredLength = std::optional<std::chrono::duration<double>>;
  // Reads the head alone. kAudioDamaged: it cannot be read, there is no sound in it, or it tells of more
  // bytes than there are. kAudioUnsupported: channels or a rate that we do not take. kAudioTooLong: by what
  // it tells.
  base::Result<DeclaredLength> look() const;

  using Take = std::function<bool(std::span<const std::int16_t>)>;
  // Hands the samples to `take`, in order, until it returns false or they end; how many there were. A
  // recording that is cut off gives what can be decoded. kAudioDamaged: nothing can. kAudioTooLong.
  base::Result<std::int64_t> decode(const Take& take) const;

 private:
  base::Error too_long() const;
  base::Result<DeclaredLength> checked(std::string_view ffprobe_json) const;

  const Tools& tools_;
  const EngineLimits& limits_;
  int copy_fd_;
  schemas::AudioFormat format_;
};

}  // namespace millrace::engines::host
