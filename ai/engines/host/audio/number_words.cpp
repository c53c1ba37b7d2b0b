#include "ai/engines/host/audio/number_words.h"

#include <iterator>

namespace millrace::engines::host {
namespace {

constexpr const char* kOnes[] = {"zero",    "one",     "two",       "three",    "four",
                                 "five",    "six",     "seven",     "eight",    "nine",
                                 "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                 "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr const char* kTens[] = {"",      "",      "twenty",  "thirty", "forty",
                                 "fifty", "sixty", "seventy", "eighty", "ninety"};
struct Scale {
  std::uint64_t value;
  const char* name;
};
constexpr Scale kScales[] = {
    {1'000'000'000'000, "trillion"}, {1'000'000'000, "billion"}, {1'000'000, "million"}, {1'000, "thousand"}};

struct Irregular {
  const char* cardinal;
  const char* ordinal;
};
constexpr Irregular kOrdinals[] = {{"one", "first"},     {"two", "second"},   {"three", "third"},
                                   {"five", "fifth"},    {"eight", "eighth"}, {"nine", "ninth"},
                                   {"twelve", "twelfth"}};

void add_below_hundred(SpokenWords& words, std::uint64_t number) {
  if (number < std::size(kOnes)) {
    words.emplace_back(kOnes[number]);
    return;
  }
  words.emplace_back(kTens[number / 10]);
  if (number % 10 != 0) words.emplace_back(kOnes[number % 10]);
}

void add_below_thousand(SpokenWords& words, std::uint64_t number, bool with_and) {
  if (number >= 100) {
    words.emplace_back(kOnes[number / 100]);
    words.emplace_back("hundred");
    number %= 100;
    if (number == 0) return;
    if (with_and) words.emplace_back("and");
  }
  add_below_hundred(words, number);
}

}  // namespace

SpokenWords cardinal(std::uint64_t number, bool with_and) {
  SpokenWords words;
  for (const Scale& scale : kScales) {
    if (number < scale.value) continue;
    add_below_thousand(words, number / scale.value, with_and);
    words.emplace_back(scale.name);
    number %= scale.value;
  }
  if (number == 0 && !words.empty()) return words;
  if (with_and && !words.empty() && number < 100) words.emplace_back("and");
  add_below_thousand(words, number, with_and);
  return words;
}

SpokenWords ordinal(SpokenWords cardinal) {
  if (cardinal.empty()) return cardinal;
  std::string& last = cardinal.back();
  for (const Irregular& irregular : kOrdinals) {
    if (last != irregular.cardinal) continue;
    last = irregular.ordinal;
    return cardinal;
  }
  if (last.back() == 'y') last.replace(last.size() - 1, 1, "ie");
  last += "th";
  return cardinal;
}

SpokenWords plural(SpokenWords cardinal) {
  if (cardinal.empty()) return cardinal;
  std::string& last = cardinal.back();
  if (last.back() == 'y') {
    last.replace(last.size() - 1, 1, "ies");
  } else {
    last += last == "six" ? "es" : "s";
  }
  return cardinal;
}

SpokenWords digit_by_digit(std::string_view digits, std::string_view zero) {
  SpokenWords words;
  for (const char c : digits) {
    if (c < '0' || c > '9') continue;
    words.emplace_back(c == '0' ? zero : std::string_view(kOnes[c - '0']));
  }
  return words;
}

SpokenWords in_pairs(std::string_view digits) {
  if ((digits.size() != 3 && digits.size() != 4) || digits[0] == '0') return {};
  std::uint64_t number = 0;
  for (const char c : digits) number = number * 10 + static_cast<std::uint64_t>(c - '0');
  SpokenWords words;
  add_below_hundred(words, number / 100);
  const std::uint64_t rest = number % 100;
  if (rest == 0) {
    words.emplace_back("hundred");
  } else {
    if (rest < 10) words.emplace_back("oh");
    add_below_hundred(words, rest);
  }
  return words;
}

}  // namespace millrace::engines::host
