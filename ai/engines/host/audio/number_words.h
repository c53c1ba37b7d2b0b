#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::engines::host {

// Lower-case words in the order in which they are spoken: {"twenty", "one"}.
using SpokenWords = std::vector<std::string>;

inline constexpr std::uint64_t kCardinalMax = 999'999'999'999'999;  // larger numbers are read digit by digit

// 1984: "one thousand nine hundred eighty four"; `with_and`: "… nine hundred and eighty four". At most
// kCardinalMax.
SpokenWords cardinal(std::uint64_t number, bool with_and = false);
// "twenty first" from "twenty one"; "eighties" from "eighty".
SpokenWords ordinal(SpokenWords cardinal);
SpokenWords plural(SpokenWords cardinal);
// Digits one by one; `zero`: the word for 0. Other characters are skipped.
SpokenWords digit_by_digit(std::string_view digits, std::string_view zero = "zero");
// Three or four digits in pairs, as in years: "nineteen eighty four", "twenty oh five", "nineteen hundred",
// "seven forty seven". Empty: other lengths, or a leading zero.
SpokenWords in_pairs(std::string_view digits);

}  // namespace millrace::engines::host
