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

inline constexpr int kVoiceRate = 16'000;   // of the flite voices
inline constexpr int kSpeechRate = 24'000;  // of the output, in every encoding

// Resamples from 16 to 24 kHz as the samples arrive: three output samples for two input samples, through a
// low-pass filter that keeps the voice and removes the images. The delay is 0.75 ms.
class Resampler {
 public:
  Resampler();
  std::vector<std::int16_t> next(std::span<const std::int16_t> samples);
  // The samples that the filter still holds; feed nothing afterwards.
  std::vector<std::int16_t> rest();

 private:
  static constexpr std::size_t kUp = 3, kDown = 2;
  static constexpr std::size_t kTaps = 24;  // per phase

  std::array<std::array<float, kTaps>, kUp> phases_;
  std::vector<float> window_;  // the last kTaps samples in, then the new ones
  std::size_t phase_ = 0;      // of the next output sample, relative to the newest sample of the window
};

// Encodes samples (24 kHz, mono) into a file that is read while it is written: its header declares no length,
// and no byte is changed afterwards.
class Encoder {
 public:
  using Out = std::function<void(std::string_view)>;

  Encoder() = default;
  virtual ~Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // kInternal: the encoder failed; its earlier output remains valid.
  virtual base::Status write(std::span<const std::int16_t> samples) = 0;
  virtual base::Status finish() = 0;
};

// `out` receives the encoded bytes, in order.
base::Result<std::unique_ptr<Encoder>> make_encoder(schemas::SpeechEncoding encoding, Encoder::Out out);

// AAC (LC, 64 kbit/s) in ADTS frames of 43 ms each, by vo-aacenc, which has no start-up cost.
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
