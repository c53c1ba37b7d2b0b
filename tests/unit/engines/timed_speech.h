#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::engines::host {

// Speech of flite with the times at which its synthesis places each word, in seconds.
struct TimedSpeech {
  struct Word {
    double start = 0, end = 0;
  };
  std::vector<std::int16_t> samples;  // 16 kHz, mono
  std::vector<Word> words;            // of the text, split at spaces
};

// Synthesises these sentences one after the other, in the voice slt, rms or awb. Empty if it is another
// voice.
TimedSpeech timed_speech(const std::vector<std::string>& sentences, const std::string& voice = "slt");

// Adds white noise, the same in each run, at this ratio of speech to noise.
void add_noise(std::vector<std::int16_t>& samples, double decibels);

}  // namespace millrace::engines::host
