#include "ai/engines/host/audio/encoder.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include <sndfile.h>

namespace millrace::engines::host {
namespace {

constexpr double kCutoff = 7'600.0 / (3.0 * kVoiceRate);  // relative to three times the input rate

// One filter tap: a sinc with a Blackman window.
double tap(std::size_t index, std::size_t count) {
  const double middle = static_cast<double>(count - 1) / 2;
  const double x = static_cast<double>(index) - middle;
  const double turn = std::numbers::pi * static_cast<double>(index) / middle;
  const double window = 0.42 - 0.5 * std::cos(turn) + 0.08 * std::cos(2 * turn);
  const double angle = 2 * std::numbers::pi * kCutoff * x;
  return window * (x == 0 ? 2 * kCutoff : std::sin(angle) / (std::numbers::pi * x));
}

}  // namespace

Resampler::Resampler() : phases_{}, window_(kTaps - 1) {
  for (std::size_t i = 0; i < kUp * kTaps; ++i) {
    phases_[i % kUp][i / kUp] = static_cast<float>(static_cast<double>(kUp) * tap(i, kUp * kTaps));
  }
}

std::vector<std::int16_t> Resampler::next(std::span<const std::int16_t> samples) {
  for (const std::int16_t sample : samples) window_.push_back(sample);
  std::vector<std::int16_t> out;
  out.reserve(samples.size() * kUp / kDown + 1);
  // `phase_` counts samples at three times the input rate, from the first new input sample.
  std::size_t newest = kTaps - 1 + phase_ / kUp;
  while (newest < window_.size()) {
    const auto& taps = phases_[phase_ % kUp];
    float sum = 0;
    for (std::size_t i = 0; i < kTaps; ++i) sum += taps[i] * window_[newest - i];
    out.push_back(static_cast<std::int16_t>(std::lround(std::clamp(sum, -32768.0F, 32767.0F))));
    phase_ += kDown;
    newest = kTaps - 1 + phase_ / kUp;
  }
  const std::size_t used = window_.size() - (kTaps - 1);
  phase_ -= used * kUp;
  window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(used));
  return out;
}

std::vector<std::int16_t> Resampler::rest() {
  const std::array<std::int16_t, kTaps / 2> silence{};
  return next(silence);
}

namespace {

using schemas::SpeechEncoding;

std::string_view bytes_of(std::span<const std::int16_t> samples) {
  return {reinterpret_cast<const char*>(samples.data()), samples.size_bytes()};
}

void put(std::string& to, std::uint32_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
}

// A header without a length, as for a stream: readers accept data until the end.
std::string wav_head() {
  constexpr std::uint32_t kUnknown = 0xFFFFFFFF;
  constexpr std::uint32_t kBytes = sizeof(std::int16_t);
  std::string head = "RIFF";
  put(head, kUnknown, 4);
  head += "WAVEfmt ";
  put(head, 16, 4);
  put(head, 1, 2);  // PCM
  put(head, 1, 2);  // channels
  put(head, kSpeechRate, 4);
  put(head, kSpeechRate * kBytes, 4);
  put(head, kBytes, 2);
  put(head, 8 * kBytes, 2);
  head += "data";
  put(head, kUnknown, 4);
  return head;
}

// Writes `head`, then the samples unchanged.
class PlainEncoder final : public Encoder {
 public:
  PlainEncoder(std::string head, Out out) : head_(std::move(head)), out_(std::move(out)) {}

  base::Status write(std::span<const std::int16_t> samples) override {
    if (!head_.empty()) out_(std::exchange(head_, {}));
    out_(bytes_of(samples));
    return {};
  }
  base::Status finish() override {
    if (!head_.empty()) out_(std::exchange(head_, {}));
    return {};
  }

 private:
  std::string head_;
  Out out_;
};

base::Error encoder_failed() { return base::error(base::Code::kInternal, "encoding the speech failed"); }

// Sends the output of libsndfile at once. At the end libsndfile seeks back to write lengths into the header.
// The header has already been sent, so that write is discarded.
class SoundFileEncoder final : public Encoder {
 public:
  explicit SoundFileEncoder(Out out) : out_(std::move(out)) {}
  ~SoundFileEncoder() override { close(); }

  bool open(int format) {
    SF_INFO info{};
    info.samplerate = kSpeechRate;
    info.channels = 1;
    info.format = format;
    SF_VIRTUAL_IO io{length, seek, read, write_bytes, tell};
    file_ = ::sf_open_virtual(&io, SFM_WRITE, &info, this);
    return file_ != nullptr;
  }
  SNDFILE* file() { return file_; }

  base::Status write(std::span<const std::int16_t> samples) override {
    const auto count = static_cast<sf_count_t>(samples.size());
    if (::sf_write_short(file_, samples.data(), count) != count) return encoder_failed();
    flush();
    return {};
  }
  base::Status finish() override {
    const bool closed = close();
    flush();
    if (!closed) return encoder_failed();
    return {};
  }

 private:
  static SoundFileEncoder& of(void* self) { return *static_cast<SoundFileEncoder*>(self); }
  static sf_count_t length(void* self) { return of(self).end_; }
  static sf_count_t tell(void* self) { return of(self).at_; }
  static sf_count_t read(void* /*to*/, sf_count_t /*count*/, void* /*self*/) { return 0; }
  static sf_count_t seek(sf_count_t offset, int whence, void* self) {
    SoundFileEncoder& file = of(self);
    const sf_count_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file.at_ : file.end_;
    return file.at_ = base + offset;
  }
  static sf_count_t write_bytes(const void* bytes, sf_count_t count, void* self) {
    SoundFileEncoder& file = of(self);
    if (file.at_ == file.end_) {
      file.made_.append(static_cast<const char*>(bytes), static_cast<std::size_t>(count));
      file.end_ += count;
    }
    file.at_ += count;
    return count;
  }
  bool close() { return file_ == nullptr || ::sf_close(std::exchange(file_, nullptr)) == 0; }
  void flush() {
    if (!made_.empty()) out_(std::exchange(made_, {}));
  }

  Out out_;
  SNDFILE* file_ = nullptr;
  std::string made_;
  sf_count_t at_ = 0, end_ = 0;
};

constexpr double kMp3Compression =
    0.63;  // a constant bit rate of 64 kbit/s, from which a player can compute the length
constexpr double kOpusPageMs = 200;  // audio buffered until a page is full

void set_up(SNDFILE* file, SpeechEncoding encoding) {
  if (encoding == SpeechEncoding::kMp3) {
    int constant = SF_BITRATE_MODE_CONSTANT;
    double compression = kMp3Compression;
    ::sf_command(file, SFC_SET_BITRATE_MODE, &constant, sizeof constant);
    ::sf_command(file, SFC_SET_COMPRESSION_LEVEL, &compression, sizeof compression);
  } else if (encoding == SpeechEncoding::kOpus) {
    double page = kOpusPageMs;
    ::sf_command(file, SFC_SET_OGG_PAGE_LATENCY_MS, &page, sizeof page);
  }
}

base::Result<std::unique_ptr<Encoder>> sound_file_encoder(SpeechEncoding encoding, int format,
                                                          Encoder::Out out) {
  auto encoder = std::make_unique<SoundFileEncoder>(std::move(out));
  if (!encoder->open(format)) return encoder_failed();
  set_up(encoder->file(), encoding);
  return encoder;
}

base::Result<std::unique_ptr<Encoder>> aac_encoder(Encoder::Out out) {
  auto encoder = std::make_unique<AacEncoder>(std::move(out));
  if (!encoder->open()) return encoder_failed();
  return encoder;
}

}  // namespace

base::Result<std::unique_ptr<Encoder>> make_encoder(SpeechEncoding encoding, Encoder::Out out) {
  switch (encoding) {
    case SpeechEncoding::kPcm:
      return std::make_unique<PlainEncoder>(std::string(), std::move(out));
    case SpeechEncoding::kWav:
      return std::make_unique<PlainEncoder>(wav_head(), std::move(out));
    case SpeechEncoding::kFlac:
      return sound_file_encoder(encoding, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, std::move(out));
    case SpeechEncoding::kMp3:
      return sound_file_encoder(encoding, SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, std::move(out));
    case SpeechEncoding::kOpus:
      return sound_file_encoder(encoding, SF_FORMAT_OGG | SF_FORMAT_OPUS, std::move(out));
    case SpeechEncoding::kAac:
      return aac_encoder(std::move(out));
  }
  return encoder_failed();
}

namespace {

constexpr int kAacBitRate = 64'000;
constexpr int kAacDelayFrames = 2;  // delay of the encoder

base::Error aac_failed() {
  return base::error(base::Code::kInternal, "encoding the speech with vo-aacenc failed");
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
  AACENC_PARAM parameters{};
  parameters.sampleRate = kSpeechRate;
  parameters.bitRate = kAacBitRate;
  parameters.nChannels = 1;
  parameters.adtsUsed = 1;
  return voGetAACEncAPI(&library_) == VO_ERR_NONE &&
         library_.Init(&encoder_, VO_AUDIO_CodingAAC, &with) == VO_ERR_NONE &&
         library_.SetParam(encoder_, VO_PID_AAC_ENCPARAM, &parameters) == VO_ERR_NONE;
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

// Silence flushes the remaining samples out of the encoder.
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
