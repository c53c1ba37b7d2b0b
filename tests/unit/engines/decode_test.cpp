#include "ai/engines/host/audio/decode.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/engines/real_documents.h"
#include "tests/unit/engines/real_recordings.h"

namespace millrace::engines::host {
namespace {

using base::Code;
using engines::testing::converted;
using engines::testing::generated;
using engines::testing::wav_of;
using schemas::AudioFormat;

// A tone of two seconds. Its length and loudness are easy to measure after decoding.
std::string tone(process::Spawner& spawner) {
  return generated(spawner, "sine=frequency=440:sample_rate=44100:duration=2", "wav");
}

struct Decoded {
  base::Result<Decoder::DeclaredLength> look = Decoder::DeclaredLength();
  base::Result<std::int64_t> count = 0;
  std::int64_t loudest = 0;
};

class DecoderTest : public ::testing::Test {
 protected:
  Decoded decode(const std::string& bytes, AudioFormat format) {
    const base::Fd copy(::memfd_create("recording", MFD_CLOEXEC));
    EXPECT_EQ(::write(copy.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    const Tools tools(spawner_, limits_);
    const Decoder decoder(tools, limits_, copy.get(), format);
    Decoded decoded;
    decoded.look = decoder.look();
    decoded.count = decoder.decode([&](std::span<const std::int16_t> samples) {
      for (const std::int16_t sample : samples)
        decoded.loudest = std::max<std::int64_t>(decoded.loudest, sample);
      return true;
    });
    return decoded;
  }
  Decoded decode(const std::string& bytes) {
    const auto format = schemas::detect_audio(bytes.substr(0, schemas::kAudioHeadBytes));
    EXPECT_TRUE(format) << "its first bytes match none of our formats";
    return decode(bytes, format.value_or(AudioFormat::kWav));
  }
  Code refused(const std::string& bytes) {
    const Decoded decoded = decode(bytes);
    return decoded.look ? Code::kInternal : decoded.look.error().code;
  }

  process::Spawner spawner_;
  EngineLimits limits_ = engines::testing::patient_limits();
};

TEST_F(DecoderTest, EveryFormatOfTheSpecGivesTheSameSound) {
  struct Row {
    const char* ending;
    AudioFormat format;
    std::vector<std::string> options;
  };
  const Row rows[] = {{"wav", AudioFormat::kWav, {}},
                      {"flac", AudioFormat::kFlac, {}},
                      {"mp3", AudioFormat::kMp3, {}},
                      {"m4a", AudioFormat::kMp4, {}},
                      {"mp4", AudioFormat::kMp4, {"-c:a", "aac"}},
                      {"mpg", AudioFormat::kMpeg, {"-c:a", "mp2"}},
                      {"ogg", AudioFormat::kOgg, {"-c:a", "libvorbis"}},
                      {"ogg", AudioFormat::kOgg, {"-c:a", "libopus"}},
                      {"webm", AudioFormat::kWebm, {"-c:a", "libopus"}},
                      {"webm", AudioFormat::kWebm, {"-c:a", "libvorbis"}}};
  const std::string wav = tone(spawner_);
  for (const Row& row : rows) {
    const std::string bytes = converted(spawner_, wav, row.ending, row.options);
    EXPECT_EQ(schemas::detect_audio(bytes.substr(0, schemas::kAudioHeadBytes)), row.format) << row.ending;
    const Decoded decoded = decode(bytes);
    EXPECT_TRUE(decoded.look) << row.ending << ": " << decoded.look.error().message;
    ASSERT_TRUE(decoded.count) << row.ending << ": " << decoded.count.error().message;
    EXPECT_NEAR(static_cast<double>(*decoded.count), 2.0 * kSampleRate, 0.1 * kSampleRate) << row.ending;
    EXPECT_NEAR(static_cast<double>(decoded.loudest), 4096, 600) << row.ending;
  }
}

TEST_F(DecoderTest, TheAudioTrackOfAVideoIsDecodedAndAVideoWithoutOneIsNamed) {
  const std::string film =
      generated(spawner_, "color=c=red:s=64x64:d=2[out0];sine=duration=2:sample_rate=44100[out1]", "mp4",
                {"-c:a", "aac"});
  const Decoded decoded = decode(film);
  ASSERT_TRUE(decoded.look) << decoded.look.error().message;
  ASSERT_TRUE(decoded.count);
  EXPECT_NEAR(static_cast<double>(*decoded.count), 2.0 * kSampleRate, 0.1 * kSampleRate);
  const Decoded silent_film = decode(generated(spawner_, "color=c=red:s=64x64:d=1", "mp4"));
  ASSERT_FALSE(silent_film.look);
  EXPECT_EQ(silent_film.look.error().code, Code::kAudioDamaged);
  EXPECT_NE(silent_film.look.error().message.find("no audio track"), std::string::npos);
}

TEST_F(DecoderTest, ARecordingWhoseHeaderDeclaresMoreBytesThanThereAreIsRefused) {
  const std::string wav = tone(spawner_);
  const std::string fast = converted(spawner_, wav, "m4a", {"-movflags", "+faststart"});
  for (const std::string& whole :
       {wav, converted(spawner_, wav, "mp3"), converted(spawner_, wav, "webm"), fast}) {
    EXPECT_TRUE(decode(whole).look);
    EXPECT_EQ(refused(whole.substr(0, whole.size() * 4 / 5)), Code::kAudioDamaged);
  }
  const std::string tagged =
      converted(spawner_, wav, "mp3", {"-metadata", "title=" + std::string(3'000, 't')});
  EXPECT_TRUE(decode(tagged).look);
  EXPECT_EQ(refused(tagged.substr(0, tagged.size() * 4 / 5)), Code::kAudioDamaged);
}

TEST_F(DecoderTest, AStreamOfUnknownLengthIsDecodedToItsEnd) {
  const std::string wav = tone(spawner_);
  std::string streamed = wav;
  streamed.replace(4, 4, "\xFF\xFF\xFF\xFF");
  const std::string mp3 = converted(spawner_, wav, "mp3", {"-write_xing", "0"});
  const std::string webm = converted(spawner_, wav, "webm", {"-live", "1"});
  std::string invented = wav;
  invented.replace(4, 4, std::string("\x24\x94\x35\x77", 4));  // 2,000,000,036 bytes, as some servers write
  for (const std::string& whole : {streamed, invented, mp3, webm}) {
    const Decoded decoded = decode(whole.substr(0, whole.size() * 4 / 5));
    EXPECT_TRUE(decoded.look);
    ASSERT_TRUE(decoded.count);
    EXPECT_GT(*decoded.count, kSampleRate);
  }
}

TEST_F(DecoderTest, ADecoderGivesWhatIsThereOfARecordingThatIsCutOff) {
  const std::string wav = tone(spawner_);
  // Without this option, the file would have a single page.
  const std::string whole = converted(spawner_, wav, "ogg", {"-page_duration", "200000"});
  const Decoded decoded = decode(whole.substr(0, whole.size() * 4 / 5));
  EXPECT_TRUE(decoded.look) << decoded.look.error().message;
  ASSERT_TRUE(decoded.count);
  EXPECT_GT(*decoded.count, kSampleRate / 4);
  EXPECT_LT(*decoded.count, 2 * kSampleRate);
  const std::string m4a = converted(spawner_, wav, "m4a");
  EXPECT_EQ(refused(m4a.substr(0, m4a.size() / 2)), Code::kAudioDamaged)
      << "its index is at the end of the file";
  EXPECT_EQ(refused(wav.substr(0, 40)), Code::kAudioDamaged);
  EXPECT_EQ(refused("fLaC" + std::string(500, '\x7f')), Code::kAudioDamaged);
}

TEST_F(DecoderTest, AStreamedWavOfUnknownLengthIsAsLongAsItIs) {
  std::string wav = wav_of(std::string(kSampleRate * 2, '\x01'), kSampleRate, 1);
  wav.replace(4, 4, "\xff\xff\xff\xff");
  wav.replace(40, 4, "\xff\xff\xff\xff");
  const Decoded decoded = decode(wav);
  EXPECT_TRUE(decoded.look) << decoded.look.error().message;
  ASSERT_TRUE(decoded.count);
  EXPECT_EQ(*decoded.count, kSampleRate);
}

TEST_F(DecoderTest, RatesAndChannelsThatNobodyRecordsAreRefusedByName) {
  const std::string samples(64'000, '\x01');
  for (const auto& [rate, channels, word] :
       std::initializer_list<std::tuple<unsigned, unsigned, const char*>>{{1, 1, "1 Hz"},
                                                                          {16'000, 64, "64 channels"}}) {
    const Decoded decoded = decode(wav_of(samples, rate, channels));
    ASSERT_FALSE(decoded.look);
    EXPECT_EQ(decoded.look.error().code, Code::kAudioUnsupported);
    EXPECT_NE(decoded.look.error().message.find(word), std::string::npos) << decoded.look.error().message;
  }
  EXPECT_EQ(refused(wav_of(samples, 0, 1)), Code::kAudioDamaged);
  EXPECT_EQ(refused(wav_of(samples, 16'000, 0)), Code::kAudioDamaged);
  const Decoded fast = decode(wav_of(std::string(2 * 768'000, '\x01'), 768'000, 1));
  EXPECT_TRUE(fast.look);
  ASSERT_TRUE(fast.count);
  EXPECT_NEAR(static_cast<double>(*fast.count), kSampleRate, 100);
  const Decoded many = decode(wav_of(std::string(8 * 32'000, '\x01'), 16'000, 8));
  EXPECT_TRUE(many.look);
  EXPECT_TRUE(many.count);
}

TEST_F(DecoderTest, ARecordingThatIsTooLongIsRefusedByWhatItSaysAndByWhatItIs) {
  limits_.recording_max = std::chrono::minutes(10);
  std::string flac =
      generated(spawner_, "anullsrc=r=8000:cl=mono", "flac", {"-t", "3600", "-frame_size", "16384"});
  ASSERT_LT(flac.size(), 100'000U) << "an hour of silence compresses to a small file";
  EXPECT_EQ(refused(flac), Code::kAudioTooLong);
  // The same file without its length, which is 36 bits in the first block.
  flac[21] = static_cast<char>(flac[21] & '\xF0');
  flac.replace(22, 4, std::string(4, '\0'));
  const Decoded decoded = decode(flac);
  EXPECT_TRUE(decoded.look);
  ASSERT_FALSE(decoded.count);
  EXPECT_EQ(decoded.count.error().code, Code::kAudioTooLong);
  EXPECT_NE(decoded.count.error().message.find("10 minutes (stt.duration_max)"), std::string::npos);
}

TEST_F(DecoderTest, APlaylistInARecordingsPlaceReadsNoFile) {
  const std::string playlist =
      "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n";
  const std::string concat = "ffconcat version 1.0\nfile /etc/hostname\n";
  for (const std::string& text : {playlist, concat}) {
    EXPECT_FALSE(schemas::detect_audio(text));
    for (const AudioFormat format : {AudioFormat::kMp3, AudioFormat::kWav, AudioFormat::kMp4}) {
      const Decoded decoded = decode(text, format);
      EXPECT_FALSE(decoded.look && decoded.count) << schemas::name(format);
    }
  }
}

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

std::string box(const std::string& name, const std::string& content) {
  return big_endian(static_cast<std::uint32_t>(content.size() + 8)) + name + content;
}

// The boxes in `boxes`, with the one at `path` changed by `change`, or without it if its content becomes
// empty.
std::string changed(const std::string& boxes, std::vector<std::string> path,
                    const std::function<std::string(std::string)>& change) {
  std::string out;
  for (std::size_t at = 0; at + 8 <= boxes.size();) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(boxes[at + i]);
    const std::string name = boxes.substr(at + 4, 4);
    std::string content = boxes.substr(at + 8, size - 8);
    if (name == path.front()) {
      content = path.size() == 1 ? change(content) : changed(content, {path.begin() + 1, path.end()}, change);
    }
    if (!content.empty()) out += box(name, content);
    at += size;
  }
  return out;
}

// An MP4 file whose track plays the beginning of its sound again and again, by this many entries of its edit
// list.
std::string with_edits(const std::string& m4a, std::uint32_t count) {
  constexpr std::uint32_t kOnce = 1 << 16;
  std::string list = big_endian(0) + big_endian(count);
  for (std::uint32_t i = 0; i < count; ++i)
    list += big_endian(1000) + big_endian(i % 1000) + big_endian(kOnce);
  return changed(m4a, {"moov", "trak"}, [&](const std::string& track) {
    return changed(track, {"edts"}, [](const std::string&) { return std::string(); }) +
           box("edts", box("elst", list));
  });
}

TEST_F(DecoderTest, ARecordingWhoseEditsCostTooMuchIsRefusedAndIsNotTheHostsFault) {
  limits_.decode_cpu = std::chrono::seconds(1);
  const std::string wav = generated(spawner_, "sine=duration=60:sample_rate=16000", "wav");
  const std::string file = with_edits(converted(spawner_, wav, "m4a"), 200'000);
  const Decoded decoded = decode(file);
  const auto& error = decoded.look ? decoded.count.error() : decoded.look.error();
  EXPECT_EQ(error.code, Code::kAudioDamaged) << error.message;
  EXPECT_NE(error.message.find("limit of time or memory"), std::string::npos) << error.message;
}

TEST_F(DecoderTest, WhoHasEnoughEndsTheDecoding) {
  const base::Fd copy(::memfd_create("recording", MFD_CLOEXEC));
  const std::string bytes = generated(spawner_, "sine=duration=600:sample_rate=16000", "wav");
  ASSERT_EQ(::write(copy.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  const Tools tools(spawner_, limits_);
  const auto count =
      Decoder(tools, limits_, copy.get(), AudioFormat::kWav).decode([](std::span<const std::int16_t>) {
        return false;
      });
  ASSERT_TRUE(count);
  EXPECT_LT(*count, 600 * kSampleRate);
}

}  // namespace
}  // namespace millrace::engines::host
