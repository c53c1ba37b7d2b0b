#include "app/cli/chat/speak_command.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

// A WAV of four samples as a stream sends it, without a known length.
std::string streamed_wav() {
  const std::string unknown(4, '\xFF');
  return "RIFF" + unknown + "WAVEfmt " + std::string("\x10\0\0\0", 4) + std::string(16, 'f') + "data" +
         unknown + "12345678";
}

std::string length_at(const std::string& wav, std::size_t at) { return wav.substr(at, 4); }

TEST(SpeakCommand, TheEndingOfAFileNamesTheFormat) {
  EXPECT_EQ(speech_format_of("a.mp3"), "mp3");
  EXPECT_EQ(speech_format_of("a.b/c.FLAC"), "flac");
  EXPECT_EQ(speech_format_of("a.ogg"), "opus");
  EXPECT_EQ(speech_format_of("a.pcm"), "pcm");
  EXPECT_EQ(speech_format_of("mp3"), "");
  EXPECT_EQ(speech_format_of("a.m4a"), "");
}

TEST(SpeakCommand, AStreamedWavGetsItsLengths) {
  std::string wav = streamed_wav();
  settle_wav_lengths(wav);
  EXPECT_EQ(length_at(wav, 4), std::string("\x2C\0\0\0", 4));
  EXPECT_EQ(length_at(wav, 40), std::string("\x08\0\0\0", 4));
  const std::string settled = wav;
  settle_wav_lengths(wav);
  EXPECT_EQ(wav, settled);
}

TEST(SpeakCommand, WhatIsNoWavStaysAsItIs) {
  for (std::string bytes : {"", "RIFF", "RIFFxxxxWAVEdata", "OggS data"}) {
    const std::string before = bytes;
    settle_wav_lengths(bytes);
    EXPECT_EQ(bytes, before);
  }
}

}  // namespace
}  // namespace millrace::cli
