#include "ai/engines/host/audio/decode.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace millrace::engines::host {
namespace {

constexpr std::size_t kRiffHead = 8;  // "RIFF" and the size of the rest in bytes
constexpr std::uint32_t kSizeUnknown =
    1u << 30;  // streams write a size this large, or none; no upload is this large
constexpr std::size_t kId3Head = 10;
constexpr std::size_t kFirstFrame = 256;  // within this many bytes of the first frame is the Xing header
constexpr std::int64_t kSlackBytes = 512;
constexpr std::size_t kBoxHead = 16;  // size, name, and a second size field for long boxes
constexpr int kBoxesMax = 10'000;
constexpr std::size_t kElementHead = 12;  // name and size
constexpr std::size_t kElementName = 4;

std::string bytes_at(int fd, std::int64_t at, std::size_t count) {
  std::string bytes(count, '\0');
  const ssize_t got = ::pread(fd, bytes.data(), count, at);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

std::uint32_t octet(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

std::uint32_t little(std::string_view b) {
  return octet(b, 0) | octet(b, 1) << 8 | octet(b, 2) << 16 | octet(b, 3) << 24;
}
std::uint32_t big(std::string_view b) {
  return octet(b, 0) << 24 | octet(b, 1) << 16 | octet(b, 2) << 8 | octet(b, 3);
}

// Where the file should end; 0: not declared.
std::int64_t end_of_riff(int fd) {
  const std::string head = bytes_at(fd, 0, kRiffHead);
  if (head.size() < kRiffHead || !head.starts_with("RIFF")) return 0;
  const std::uint32_t size = little(std::string_view(head).substr(4));
  return size >= kSizeUnknown ? 0 : static_cast<std::int64_t>(size) + static_cast<std::int64_t>(kRiffHead);
}

// The length of the tag before the first frame: four groups of seven bits.
std::int64_t id3_bytes(int fd) {
  const std::string head = bytes_at(fd, 0, kId3Head);
  if (head.size() < kId3Head || !head.starts_with("ID3")) return 0;
  std::int64_t size = 0;
  for (std::size_t at = 6; at < kId3Head; ++at) size = size << 7 | (octet(head, at) & 0x7F);
  return size + static_cast<std::int64_t>(kId3Head);
}

// The Xing header: name, flags (1: frames, 2: bytes), then four bytes for each flag.
std::int64_t end_of_mp3(int fd) {
  const std::int64_t first = id3_bytes(fd);
  const std::string frame = bytes_at(fd, first, kFirstFrame);
  const std::size_t at = std::min(frame.find("Xing"), frame.find("Info"));
  if (at == std::string::npos || at + 16 > frame.size()) return 0;
  const std::string_view head = std::string_view(frame).substr(at);
  const std::uint32_t flags = big(head.substr(4));
  if ((flags & 2) == 0) return 0;
  return first + big(head.substr((flags & 1) != 0 ? 12 : 8));
}

bool is_box_name(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
}

// Walks the top-level boxes.
std::int64_t end_of_mp4(int fd, std::int64_t file_bytes) {
  std::int64_t at = 0;
  for (int box = 0; at < file_bytes && box < kBoxesMax; ++box) {
    const std::string head = bytes_at(fd, at, kBoxHead);
    if (head.size() < kBoxHead / 2 || !is_box_name(std::string_view(head).substr(4, 4))) return 0;
    std::uint64_t size = big(head);
    if (size == 0) return 0;  // the box extends to the end of the file
    if (size == 1 && head.size() < kBoxHead) return 0;
    if (size == 1)
      size =
          std::uint64_t{big(std::string_view(head).substr(8))} << 32 | big(std::string_view(head).substr(12));
    if (size < kBoxHead / 2 || size >= kSizeUnknown) return 0;
    at += static_cast<std::int64_t>(size);
  }
  return at;
}

// Where the content of the element at `at` ends; 0: not declared.
std::int64_t end_of_element(int fd, std::int64_t at, std::string_view name) {
  const std::string head = bytes_at(fd, at, kElementHead);
  if (head.size() < kElementHead || !head.starts_with(name)) return 0;
  const std::uint32_t first = octet(head, kElementName);
  if (first == 0) return 0;
  const int more =
      std::countl_zero(static_cast<std::uint8_t>(first));  // number of size bytes after the first
  std::uint64_t size = first & (0x7Fu >> more);
  for (int i = 1; i <= more; ++i) size = size << 8 | octet(head, kElementName + static_cast<std::size_t>(i));
  if (size >= kSizeUnknown) return 0;
  return at + static_cast<std::int64_t>(kElementName) + 1 + more + static_cast<std::int64_t>(size);
}

std::int64_t end_of_webm(int fd) {
  const std::int64_t segment = end_of_element(fd, 0, "\x1A\x45\xDF\xA3");
  return segment == 0 ? 0 : end_of_element(fd, segment, "\x18\x53\x80\x67");
}

std::int64_t declared_end(int fd, schemas::AudioFormat format, std::int64_t file_bytes) {
  switch (format) {
    case schemas::AudioFormat::kWav:
      return end_of_riff(fd);
    case schemas::AudioFormat::kMp3:
      return end_of_mp3(fd);
    case schemas::AudioFormat::kMp4:
      return end_of_mp4(fd, file_bytes);
    case schemas::AudioFormat::kWebm:
      return end_of_webm(fd);
    default:
      return 0;
  }
}

}  // namespace

bool declares_more_bytes(int fd, schemas::AudioFormat format) {
  struct ::stat file {};
  if (::fstat(fd, &file) != 0) return false;
  return declared_end(fd, format, file.st_size) > file.st_size + kSlackBytes + file.st_size / 100;
}

namespace {

using base::Code;
using std::chrono::milliseconds;

constexpr int kRateMin = 4'000;
constexpr int kRateMax = 768'000;
constexpr std::size_t kHeadBytesMax = 65'536;  // of the ffprobe output
constexpr milliseconds kHeadCpu{10'000};
constexpr milliseconds kPastTheEnd{1'000};  // decoded beyond the limit, to detect that it is exceeded

// ffmpeg's name of the only demuxer that may open the file.
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

// These two formats declare no length: ffmpeg estimates one from the first frames, which may be far off.
bool declares_its_length(schemas::AudioFormat format) {
  return format != schemas::AudioFormat::kMp3 && format != schemas::AudioFormat::kMpeg;
}

std::vector<std::string> input_arguments(schemas::AudioFormat format) {
  return {"-v", "error",        "-protocol_whitelist", "file,pipe", "-format_whitelist", demuxer(format),
          "-f", demuxer(format)};
}

// A number that ffprobe writes as a number or as text.
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
  return base::error(Code::kAudioDamaged, "decoding the recording exceeds the limit of time or memory");
}

// An error that is not caused by the recording.
base::Error host_fault() {
  return base::error(Code::kOverloaded, "the decoder ran out of time or was stopped: retry later");
}

// Maps the end of a decoder run to an error; nullopt: it ended normally.
std::optional<base::Error> fault_of(ToolStream::Stop stop) {
  if (stop == ToolStream::Stop::kItself) return std::nullopt;
  return stop == ToolStream::Stop::kBounds ? too_costly() : host_fault();
}

// Assembles samples from bytes that arrive in pieces of any length.
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

base::Result<Decoder::DeclaredLength> Decoder::look() const {
  if (declares_more_bytes(recording_fd_, format_)) {
    return base::error(Code::kAudioDamaged,
                       "the recording is cut off: its header declares more bytes than the file has");
  }
  std::vector<std::string> arguments = input_arguments(format_);
  arguments.insert(arguments.end(),
                   {"-select_streams", "a:0", "-show_entries",
                    "stream=sample_rate,channels,duration:format=duration", "-of", "json", "%"});
  auto stream = tools_.start("ffprobe", std::move(arguments), recording_fd_, kHeadCpu);
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

base::Result<Decoder::DeclaredLength> Decoder::checked(std::string_view ffprobe_json) const {
  const auto probe = nlohmann::json::parse(ffprobe_json, nullptr, false);
  if (!probe.is_object() || !probe.contains("format")) return unreadable(format_);
  const auto streams = probe.find("streams");
  if (streams == probe.end() || !streams->is_array() || streams->empty()) {
    return base::error(Code::kAudioDamaged, "the recording has no audio track");
  }
  const auto& track = streams->front();
  const double rate = number_in(track, "sample_rate");
  if (rate < kRateMin || rate > kRateMax) {
    return base::error(Code::kAudioUnsupported, "the recording has a rate of " +
                                                    std::to_string(static_cast<int>(rate)) + " Hz: from " +
                                                    std::to_string(kRateMin) + " to " +
                                                    std::to_string(kRateMax) + " are supported");
  }
  const double channels = number_in(track, "channels");
  if (channels < 1 || channels > limits_.channels_max) {
    return base::error(Code::kAudioUnsupported,
                       "the recording has " + std::to_string(static_cast<int>(channels)) +
                           " channels: from 1 to " + std::to_string(limits_.channels_max) + " are supported");
  }
  const double declared_seconds =
      std::max(number_in(track, "duration"), number_in(probe["format"], "duration"));
  const double bound = std::chrono::duration<double>(limits_.recording_max).count();
  if (!declares_its_length(format_)) return DeclaredLength();
  if (declared_seconds > bound) return too_long();
  const double samples = format_ == schemas::AudioFormat::kFlac ? number_in(track, "duration") : 0;
  return samples > 0 ? DeclaredLength(samples) : std::nullopt;
}

base::Result<std::int64_t> Decoder::decode(const Take& take) const {
  const auto bound_ms = limits_.recording_max.count();
  std::vector<std::string> arguments{"-nostdin", "-threads", "1"};
  for (std::string& argument : input_arguments(format_)) arguments.push_back(std::move(argument));
  arguments.insert(arguments.end(),
                   {"-i", "%", "-map", "0:a:0", "-vn", "-sn", "-dn", "-t",
                    std::to_string(bound_ms + kPastTheEnd.count()) + "ms", "-filter_threads", "1", "-ac", "1",
                    "-ar", std::to_string(kSampleRate), "-f", "s16le", "pipe:1"});
  auto stream = tools_.start("ffmpeg", std::move(arguments), recording_fd_, limits_.decode_cpu);
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
