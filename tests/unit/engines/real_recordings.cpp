#include "tests/unit/engines/real_recordings.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

#include "platform/process/child.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/engines/real_documents.h"

namespace millrace::engines::testing {
namespace {

constexpr std::size_t kWavHead = 44;
constexpr double kSpokenRate = 24'000;

std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string output_of(process::Spawner& spawner, std::vector<std::string> argv) {
  const process::Command command{.argv = std::move(argv), .environment = {"PATH=/usr/bin"}, .fds = {}};
  auto captured = process::capture(
      spawner, command, {.wall = std::chrono::minutes(2), .output_bytes_max = std::size_t{64} << 20});
  return captured ? captured->out : std::string();
}

std::string made_by_ffmpeg(process::Spawner& spawner, std::vector<std::string> input,
                           const std::string& ending, const std::vector<std::string>& options) {
  const millrace::support::TempDir folder;
  const auto made = folder.path() / ("made." + ending);
  std::vector<std::string> argv{"/usr/bin/ffmpeg", "-nostdin", "-v", "error"};
  argv.insert(argv.end(), input.begin(), input.end());
  argv.insert(argv.end(), options.begin(), options.end());
  argv.push_back(made.string());
  output_of(spawner, std::move(argv));
  return file_bytes(made);
}

std::string little_endian(unsigned value, unsigned bytes) {
  std::string text;
  for (unsigned i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::vector<std::string> plain_words(const std::string& text) {
  std::string letters;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    letters += std::isalnum(byte) != 0 || c == '\'' ? static_cast<char>(std::tolower(byte)) : ' ';
  }
  std::istringstream stream(letters);
  return {std::istream_iterator<std::string>(stream), {}};
}

}  // namespace

std::string spoken(process::Spawner& spawner, const std::string& text, const std::string& voice) {
  const millrace::support::TempDir folder;
  const auto file = folder.path() / "spoken.wav";
  output_of(spawner,
            {engine_path(), "--speak", text, "--voice", voice, "--format", "wav", "-o", file.string()});
  return file_bytes(file);
}

std::string converted(process::Spawner& spawner, const std::string& wav, const std::string& ending,
                      const std::vector<std::string>& options) {
  const millrace::support::TempDir folder;
  return made_by_ffmpeg(spawner, {"-i", folder.write("in.wav", wav).string()}, ending, options);
}

std::string generated(process::Spawner& spawner, const std::string& source, const std::string& ending,
                      const std::vector<std::string>& options) {
  return made_by_ffmpeg(spawner, {"-f", "lavfi", "-i", source}, ending, options);
}

std::string wav_of(const std::string& samples, unsigned rate, unsigned channels) {
  const auto bytes = static_cast<unsigned>(samples.size());
  return "RIFF" + little_endian(36 + bytes, 4) + "WAVEfmt " + little_endian(16, 4) + little_endian(1, 2) +
         little_endian(channels, 2) + little_endian(rate, 4) + little_endian(rate * channels * 2, 4) +
         little_endian(channels * 2, 2) + little_endian(16, 2) + "data" + little_endian(bytes, 4) + samples;
}

std::string silent_samples(double seconds) {
  return std::string(2 * static_cast<std::size_t>(seconds * kSpokenRate), '\0');
}

std::string samples_of(const std::string& spoken_wav) {
  return spoken_wav.substr(std::min(kWavHead, spoken_wav.size()));
}

base::Result<std::shared_ptr<const Recording>> recording_of(const std::string& bytes) {
  base::Fd fd(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) fd.reset();
  return Recording::from(std::move(fd), "acme");
}

std::string probed(process::Spawner& spawner, const std::string& bytes) {
  const millrace::support::TempDir folder;
  std::string told = output_of(
      spawner, {"/usr/bin/ffprobe", "-v", "error", "-show_entries", "stream=codec_name,sample_rate,channels",
                "-of", "compact=p=0:nk=1:s=\\ ", folder.write("probed", bytes).string()});
  return told.substr(0, told.find('\n'));
}

double seconds_in(process::Spawner& spawner, const std::string& bytes) {
  const millrace::support::TempDir folder;
  const std::string samples = output_of(
      spawner, {"/usr/bin/ffmpeg", "-nostdin", "-v", "error", "-i", folder.write("timed", bytes).string(),
                "-ac", "1", "-ar", "16000", "-f", "s16le", "pipe:1"});
  return static_cast<double>(samples.size()) / 32'000;
}

double word_error_rate(const std::string& said, const std::string& heard) {
  const auto a = plain_words(said);
  const auto b = plain_words(heard);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j < row.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return static_cast<double>(row.back()) / static_cast<double>(std::max<std::size_t>(1, a.size()));
}

}  // namespace millrace::engines::testing
