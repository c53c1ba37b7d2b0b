#include "ai/engines/host/decode.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include <nlohmann/json.hpp>

#include "ai/engines/host/told_size.h"

namespace millrace::engines::host {
namespace {

using base::Code;
using std::chrono::milliseconds;

constexpr int kRateMin = 4'000;
constexpr int kRateMax = 768'000;
constexpr std::size_t kHeadBytesMax = 65'536;  // of ffprobe's answer
constexpr milliseconds kHeadCpu{10'000};
constexpr milliseconds kPastTheEnd{1'000};  // decoded beyond the bound, to tell that it is passed

// ffmpeg's name of the one reader that may open it.
const char* demuxer(schemas::AudioFormat format) {
  switch (format) {
    case schemas::AudioFormat::kFlac:
      return "flac";
    case schemas::AudioFormat::kMp3:
      return "mp3";
    case schemas::AudioFormat::kMp4:
      return "mov";
    case schemas::AudioFormat::kMpeg:
      return "mpeg";
    case schemas::AudioFormat::kOgg:
      return "ogg";
    case schemas::AudioFormat::kWav:
      return "wav";
    case schemas::AudioFormat::kWebm:
      return "matroska";
  }
  return "";
}

// These two carry no length: ffmpeg guesses one from the first frames, and may be far off.
bool tells_its_length(schemas::AudioFormat format) {
  return format != schemas::AudioFormat::kMp3 && format != schemas::AudioFormat::kMpeg;
}

std::vector<std::string> input_arguments(schemas::AudioFormat format) {
  return {"-v", "error",        "-protocol_whitelist", "file,pipe", "-format_whitelist", demuxer(format),
          "-f", demuxer(format)};
}

// A number that ffprobe writes as one, or as text.
double number_in(const nlohmann::json& of, const char* name) {
  const auto found = of.find(name);
  if (found == of.end()) return 0;
  if (found->is_number()) return found->get<double>();
  return found->is_string() ? std::strtod(found->get_ref<const std::string&>().c_str(), nullptr) : 0;
}

base::Error unreadable(schemas::AudioFormat format) {
  return base::error(
      Code::kAudioDamaged,
      "the recording cannot be read as " + std::string(schemas::name(format)) + ": it is damaged or cut off");
}

base::Error too_costly() {
  return base::error(Code::kAudioDamaged,
                     "decoding the recording takes more time or memory than any sound one");
}

// Says nothing about the recording.
base::Error host_fault() {
  return base::error(Code::kOverloaded,
                     "the recording could not be decoded in time, or its decoder was stopped");
}

// How a decoder's run that is over is to be taken; nothing: it ended by itself.
std::optional<base::Error> fault_of(ToolStream::Stop stop) {
  if (stop == ToolStream::Stop::kItself) return std::nullopt;
  return stop == ToolStream::Stop::kBounds ? too_costly() : host_fault();
}

// Samples out of bytes that come in pieces cut anywhere.
class SampleBuffer {
 public:
  std::string& bytes() { return bytes_; }
  std::span<const std::int16_t> whole() {
    samples_.resize(bytes_.size() / sizeof(std::int16_t));
    if (!samples_.empty())
      std::memcpy(samples_.data(), bytes_.data(), samples_.size() * sizeof(std::int16_t));
    bytes_.erase(0, samples_.size() * sizeof(std::int16_t));
    return samples_;
  }

 private:
  std::string bytes_;
  std::vector<std::int16_t> samples_;
};

}  // namespace

base::Error Decoder::too_long() const {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(limits_.recording_max).count();
  return base::error(Code::kAudioTooLong, "the recording is longer than " + std::to_string(minutes) +
                                              " minutes (stt.duration_max): send it in parts");
}

base::Result<Decoder::ToldLength> Decoder::look() const {
  if (tells_of_more_bytes(copy_fd_, format_)) {
    return base::error(Code::kAudioDamaged,
                       "the recording is cut off: its head tells of more bytes than there are");
  }
  std::vector<std::string> arguments = input_arguments(format_);
  arguments.insert(arguments.end(),
                   {"-select_streams", "a:0", "-show_entries",
                    "stream=sample_rate,channels,duration:format=duration", "-of", "json", "%"});
  auto stream = tools_.start("ffprobe", std::move(arguments), copy_fd_, kHeadCpu);
  if (!stream) return std::move(stream.error());
  std::string json;
  const auto deadline = std::chrono::steady_clock::now() + limits_.piece_wall;
  for (;;) {
    const auto read = stream->read_some(json, deadline);
    if (read == ToolStream::Read::kTimeout) return host_fault();
    if (json.size() > kHeadBytesMax) return too_costly();
    if (read == ToolStream::Read::kEnd) break;
  }
  if (auto fault = fault_of(stream->stop())) return *std::move(fault);
  return checked(json);
}

base::Result<Decoder::ToldLength> Decoder::checked(std::string_view ffprobe_json) const {
  const auto told = nlohmann::json::parse(ffprobe_json, nullptr, false);
  if (!told.is_object() || !told.contains("format")) return unreadable(format_);
  const auto streams = told.find("streams");
  if (streams == told.end() || !streams->is_array() || streams->empty()) {
    return base::error(Code::kAudioDamaged, "the recording has no sound in it");
  }
  const auto& track = streams->front();
  const double rate = number_in(track, "sample_rate");
  if (rate < kRateMin || rate > kRateMax) {
    return base::error(Code::kAudioUnsupported, "the recording has a rate of " +
                                                    std::to_string(static_cast<int>(rate)) + " Hz: from " +
                                                    std::to_string(kRateMin) + " to " +
                                                    std::to_string(kRateMax) + " are taken");
  }
  const double channels = number_in(track, "channels");
  if (channels < 1 || channels > limits_.channels_max) {
    return base::error(Code::kAudioUnsupported,
                       "the recording has " + std::to_string(static_cast<int>(channels)) +
                           " channels: from 1 to " + std::to_string(limits_.channels_max) + " are taken");
  }
  const double said = std::max(number_in(track, "duration"), number_in(told["format"], "duration"));
  const double bound = std::chrono::duration<double>(limits_.recording_max).count();
  if (!tells_its_length(format_)) return ToldLength();
  if (said > bound) return too_long();
  const double samples = format_ == schemas::AudioFormat::kFlac ? number_in(track, "duration") : 0;
  return samples > 0 ? ToldLength(samples) : std::nullopt;
}

base::Result<std::int64_t> Decoder::decode(const Take& take) const {
  const auto bound_ms = limits_.recording_max.count();
  std::vector<std::string> arguments{"-nostdin", "-threads", "1"};
  for (std::string& argument : input_arguments(format_)) arguments.push_back(std::move(argument));
  arguments.insert(arguments.end(),
                   {"-i", "%", "-map", "0:a:0", "-vn", "-sn", "-dn", "-t",
                    std::to_string(bound_ms + kPastTheEnd.count()) + "ms", "-filter_threads", "1", "-ac", "1",
                    "-ar", std::to_string(kSampleRate), "-f", "s16le", "pipe:1"});
  auto stream = tools_.start("ffmpeg", std::move(arguments), copy_fd_, limits_.decode_cpu);
  if (!stream) return std::move(stream.error());
  SampleBuffer buffer;
  std::int64_t count = 0;
  for (;;) {
    const auto deadline = std::chrono::steady_clock::now() + limits_.piece_wall;
    const auto read = stream->read_some(buffer.bytes(), deadline);
    if (read == ToolStream::Read::kTimeout) return host_fault();
    if (read == ToolStream::Read::kEnd) break;
    const auto samples = buffer.whole();
    count += static_cast<std::int64_t>(samples.size());
    if (count > bound_ms * kSamplesPerMs) return too_long();
    if (!take(samples)) return count;
  }
  if (auto fault = fault_of(stream->stop())) return *std::move(fault);
  if (count == 0) return unreadable(format_);
  return count;
}

}  // namespace millrace::engines::host
