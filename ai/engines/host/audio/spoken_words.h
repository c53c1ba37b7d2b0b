#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/host/audio/number_words.h"

namespace millrace::engines::host {

// One part of a written word, with the ways in which it may be read. Never empty, nor is a reading.
struct SpokenPart {
  std::vector<SpokenWords> readings;
};

// A word of a text as written ("$3.50,", "well-known", "Mr."), with the parts that are spoken one after the
// other. No parts: nothing is spoken ("--", or letters that English does not have).
struct WrittenWord {
  std::string written;
  std::vector<SpokenPart> parts;
};

// Splits a UTF-8 text at white space and finds how an English speaker may read each word: numbers (cardinal,
// ordinal, year, digits, money, per cent, time), abbreviations, initials, Roman numerals, signs. Words are
// spelled in lower case as in a dictionary, with apostrophes and without accents. Linear in the text.
std::vector<WrittenWord> written_words(std::string_view text);

}  // namespace millrace::engines::host
