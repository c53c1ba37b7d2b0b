#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <vo-aacenc/cmnMemory.h>
#include <vo-aacenc/voAAC.h>

#include "platform/base/result.h"
#include "schemas/media/speech.h"

namespace millrace::engines::host {

inline constexpr int kVoiceRate = 16'000;   // of flite's voices
inline constexpr int kSpeechRate = 24'000;  // of what is sent, in every encoding

// From 16 to 24 kHz, as the samples come: three points where there were two, through a low-pass that keeps
// what a voice has and takes the images away. Delays by 0.75 ms.
class Resampler {
 public:
  Resampler();
  std::vector<std::int16_t> next(std::span<const std::int16_t> samples);
  // What the filter still holds; nothing may be fed afterwards.
  std::vector<std::int16_t> rest();

 private:
  static constexpr std::size_t kUp = 3, kDown = 2;
  static constexpr std::size_t kTaps = 24;  // per phase

  std::array<std::array<float, kTaps>, kUp> phases_;
  std::vector<float> window_;  // the last kTaps samples in, then the new ones
  std::size_t phase_ = 0;      // of the next point out, past the newest sample of the window
};

// Turns samples (24 kHz, mono) into the bytes of a file that is read while it is made: its head tells no
// length, and nothing in it is written twice.
class Encoder {
 public:
  using Out = std::function<void(std::string_view)>;

  Encoder() = default;
  virtual ~Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // kInternal: the encoder failed; what came out until then stands.
  virtual base::Status write(std::span<const std::int16_t> samples) = 0;
  virtual base::Status finish() = 0;
};

// `out` gets the bytes, in order.
base::Result<std::unique_ptr<Encoder>> make_encoder(schemas::SpeechEncoding encoding, Encoder::Out out);

// AAC (LC, 64 kbit/s) in ADTS frames of 43 ms each, by vo-aacenc: it takes no time to start.
class AacEncoder final : public Encoder {
 public:
  explicit AacEncoder(Out out);
  ~AacEncoder() override;

  bool open();
  base::Status write(std::span<const std::int16_t> samples) override;
  base::Status finish() override;

 private:
  static constexpr std::size_t kFrameSamples = 1024;
  static constexpr std::size_t kFrameBytesMax = 8192;

  base::Status encode_frame();

  Out out_;
  VO_MEM_OPERATOR memory_{};
  VO_AUDIO_CODECAPI library_{};
  VO_HANDLE encoder_ = nullptr;
  std::array<std::int16_t, kFrameSamples> frame_{};
  std::size_t filled_ = 0;
};

}  // namespace millrace::engines::host
