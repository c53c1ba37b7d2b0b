#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace millrace::engines::host {

// A recogniser that writes one token after the other can repeat itself, or stop after a few words.

// More words in a second of sound than anybody speaks.
inline constexpr double kWordsPerSecondMax = 6;

// Whether the text says more than the sound can: more than kWordsPerSecondMax in `frames` frames of 10 ms. A
// text of at most six words never does.
bool is_too_fast(std::size_t words, std::int64_t frames);

// Whether one to eight words follow each other at least three times, over at least eight words. Case and
// punctuation do not count.
bool repeats_itself(std::span<const std::string> words);

}  // namespace millrace::engines::host
