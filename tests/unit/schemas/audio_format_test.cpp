#include "schemas/media/audio_format.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace::schemas::audio_format_test {
namespace {

using namespace std::string_literals;

// A frame of MPEG 1, layer III, 128 kbit/s, 44.1 kHz: 417 bytes.
std::string mp3_frame() { return "\xff\xfb\x90\x64"s + std::string(413, 'x'); }

TEST(AudioFormats, AreDetectedByTheirFirstBytes) {
  EXPECT_EQ(detect_audio("fLaC\0\0\0\x22"s), AudioFormat::kFlac);
  EXPECT_EQ(detect_audio("OggS\0\2"s), AudioFormat::kOgg);
  EXPECT_EQ(detect_audio("RIFF\1\2\3\4WAVEfmt "), AudioFormat::kWav);
  EXPECT_EQ(detect_audio("RF64\xff\xff\xff\xffWAVEds64"), AudioFormat::kWav);
  EXPECT_EQ(detect_audio("\0\0\0\x20"
                         "ftypM4A \0\0\0\0"s),
            AudioFormat::kMp4);
  EXPECT_EQ(detect_audio("\x1a\x45\xdf\xa3\x9f\x42\x86\x81\1\x42\x82\x84webm"s), AudioFormat::kWebm);
  EXPECT_EQ(detect_audio("\0\0\1\xba\x44"s), AudioFormat::kMpeg);
  EXPECT_EQ(detect_audio(mp3_frame() + mp3_frame()), AudioFormat::kMp3);
  EXPECT_EQ(detect_audio("ID3\4\0\0\0\0\0\0"s), AudioFormat::kMp3);
}

TEST(AudioFormats, OfATaggedFileAreDetectedBehindTheTag) {
  const std::string tag = "ID3\4\0\0\0\0\0\4abcd"s;
  EXPECT_EQ(detect_audio(tag + "fLaC"), AudioFormat::kFlac);
  EXPECT_EQ(detect_audio(tag + mp3_frame()), AudioFormat::kMp3);
}

TEST(AudioFormats, OtherBytesAreNone) {
  EXPECT_FALSE(detect_audio(""));
  EXPECT_FALSE(detect_audio("speech.mp3"));
  EXPECT_FALSE(detect_audio("#EXTM3U\n/etc/passwd\n"));
  EXPECT_FALSE(detect_audio("[playlist]\nFile1=file:///etc/passwd\n"));
  EXPECT_FALSE(detect_audio("ffconcat version 1.0\nfile '/etc/passwd'\n"));
  EXPECT_FALSE(detect_audio("%PDF-1.7"));
  EXPECT_FALSE(detect_audio("RIFF\1\2\3\4WEBPVP8 "));
  EXPECT_FALSE(detect_audio("\xff\xd8\xff\xe0"));                         // JPEG
  EXPECT_FALSE(detect_audio("\xff\xf1\x50\x80" + std::string(40, 'x')));  // AAC without a container
  EXPECT_FALSE(detect_audio("\x1a\x45\xdf\xa3\x42\x82\x88matroska"s));
}

TEST(AudioFormats, OneFrameHeaderAmongOtherBytesIsNoMusic) {
  EXPECT_FALSE(detect_audio(mp3_frame() + std::string(600, 'x')));
  EXPECT_EQ(detect_audio(mp3_frame()), AudioFormat::kMp3);
  EXPECT_FALSE(detect_audio("\xff\xfe\x41\0\x42\0"s));  // UTF-16
}

TEST(AudioFormats, NamesRoundTrip) {
  for (const AudioFormat format :
       {AudioFormat::kFlac, AudioFormat::kMp3, AudioFormat::kMp4, AudioFormat::kMpeg, AudioFormat::kOgg,
        AudioFormat::kWav, AudioFormat::kWebm}) {
    EXPECT_EQ(audio_format_named(name(format)), format);
    EXPECT_NE(audio_format_names().find(name(format)), std::string_view::npos);
    EXPECT_NE(mime(format).find('/'), std::string_view::npos);
  }
  EXPECT_FALSE(audio_format_named("aac"));
}

}  // namespace
}  // namespace millrace::schemas::audio_format_test
