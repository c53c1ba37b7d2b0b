#pragma once
#include <array>
#include <cstddef>

#include <vo-aacenc/cmnMemory.h>
#include <vo-aacenc/voAAC.h>

#include "ai/engines/host/encoder.h"

namespace millrace::engines::host {

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
