#include "ai/engines/host/aac_encoder.h"

#include <algorithm>

#include "ai/engines/host/resample.h"

namespace millrace::engines::host {
namespace {

constexpr int kAacBitRate = 64'000;
constexpr int kAacDelayFrames = 2;  // what goes in comes out that much later

base::Error aac_failed() {
  return base::error(base::Code::kInternal, "vo-aacenc does not encode the speech");
}

}  // namespace

AacEncoder::AacEncoder(Out out) : out_(std::move(out)) {
  memory_.Alloc = cmnMemAlloc;
  memory_.Copy = cmnMemCopy;
  memory_.Free = cmnMemFree;
  memory_.Set = cmnMemSet;
  memory_.Check = cmnMemCheck;
}

AacEncoder::~AacEncoder() {
  if (encoder_ != nullptr) library_.Uninit(encoder_);
}

bool AacEncoder::open() {
  VO_CODEC_INIT_USERDATA with{};
  with.memflag = VO_IMF_USERMEMOPERATOR;
  with.memData = &memory_;
  AACENC_PARAM wanted{};
  wanted.sampleRate = kSpeechRate;
  wanted.bitRate = kAacBitRate;
  wanted.nChannels = 1;
  wanted.adtsUsed = 1;
  return voGetAACEncAPI(&library_) == VO_ERR_NONE &&
         library_.Init(&encoder_, VO_AUDIO_CodingAAC, &with) == VO_ERR_NONE &&
         library_.SetParam(encoder_, VO_PID_AAC_ENCPARAM, &wanted) == VO_ERR_NONE;
}

base::Status AacEncoder::write(std::span<const std::int16_t> samples) {
  while (!samples.empty()) {
    const std::size_t taken = std::min(samples.size(), kFrameSamples - filled_);
    std::copy_n(samples.begin(), taken, frame_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += taken;
    samples = samples.subspan(taken);
    if (filled_ < kFrameSamples) return {};
    if (auto encoded = encode_frame(); !encoded) return encoded;
  }
  return {};
}

// Silence pushes out what the encoder still has.
base::Status AacEncoder::finish() {
  for (int frame = 0; frame <= kAacDelayFrames; ++frame) {
    std::fill(frame_.begin() + static_cast<std::ptrdiff_t>(filled_), frame_.end(), std::int16_t{0});
    if (auto encoded = encode_frame(); !encoded) return encoded;
  }
  return {};
}

base::Status AacEncoder::encode_frame() {
  filled_ = 0;
  std::array<unsigned char, kFrameBytesMax> bytes;
  VO_CODECBUFFER in{}, made{};
  VO_AUDIO_OUTPUTINFO about{};
  in.Buffer = reinterpret_cast<VO_PBYTE>(frame_.data());
  in.Length = sizeof frame_;
  made.Buffer = bytes.data();
  made.Length = kFrameBytesMax;
  if (library_.SetInputData(encoder_, &in) != VO_ERR_NONE ||
      library_.GetOutputData(encoder_, &made, &about) != VO_ERR_NONE) {
    return aac_failed();
  }
  out_({reinterpret_cast<const char*>(bytes.data()), made.Length});
  return {};
}

}  // namespace millrace::engines::host
