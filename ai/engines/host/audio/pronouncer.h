#pragma once
#include <string>

namespace millrace::engines::host {

// The pronunciation of a word by flite's letter-to-sound rules for US English, in the phones of CMU's
// dictionary separated by spaces ("K Y UW B"). `word`: lower-case letters and apostrophes; a word of 100
// letters takes some 50 microseconds. Empty: the word has no letter. Thread-safe.
std::string pronounced(const std::string& word);

}  // namespace millrace::engines::host
