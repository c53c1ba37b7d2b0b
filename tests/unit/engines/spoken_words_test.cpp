#include "ai/engines/host/audio/spoken_words.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "ai/engines/host/audio/pronouncer.h"

namespace millrace::engines::host {
namespace {

std::string line_of(const SpokenWords& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

// Whether a text may be read like this. The readings of the parts are tried in all combinations.
bool may_follow(const std::vector<SpokenPart>& parts, std::size_t at, std::string_view rest) {
  if (at == parts.size()) return rest.empty();
  const auto fits = [&](const SpokenWords& reading) {
    const std::string line = line_of(reading) + " ";
    return rest.starts_with(line) && may_follow(parts, at + 1, rest.substr(line.size()));
  };
  return std::any_of(parts[at].readings.begin(), parts[at].readings.end(), fits);
}

bool may_be_read(std::string_view text, const std::string& as) {
  std::vector<SpokenPart> parts;
  for (WrittenWord& word : written_words(text)) {
    for (SpokenPart& part : word.parts) parts.push_back(std::move(part));
  }
  return may_follow(parts, 0, as + " ");
}

TEST(NumberWords, AreCardinalsOrdinalsAndPairs) {
  EXPECT_EQ(line_of(cardinal(0)), "zero");
  EXPECT_EQ(line_of(cardinal(13)), "thirteen");
  EXPECT_EQ(line_of(cardinal(80)), "eighty");
  EXPECT_EQ(line_of(cardinal(1'000'000)), "one million");
  EXPECT_EQ(line_of(cardinal(1984, true)), "one thousand nine hundred and eighty four");
  EXPECT_EQ(line_of(cardinal(2005, true)), "two thousand and five");
  EXPECT_EQ(line_of(cardinal(kCardinalMax)),
            "nine hundred ninety nine trillion nine hundred ninety nine billion nine hundred ninety nine "
            "million nine hundred ninety nine thousand nine hundred ninety nine");
  EXPECT_EQ(line_of(ordinal(cardinal(21))), "twenty first");
  EXPECT_EQ(line_of(ordinal(cardinal(12))), "twelfth");
  EXPECT_EQ(line_of(ordinal(cardinal(30))), "thirtieth");
  EXPECT_EQ(line_of(plural(cardinal(80))), "eighties");
  EXPECT_EQ(line_of(plural(cardinal(6))), "sixes");
  EXPECT_EQ(line_of(in_pairs("1984")), "nineteen eighty four");
  EXPECT_EQ(line_of(in_pairs("2005")), "twenty oh five");
  EXPECT_EQ(line_of(in_pairs("1900")), "nineteen hundred");
  EXPECT_EQ(line_of(in_pairs("747")), "seven forty seven");
  EXPECT_TRUE(in_pairs("0123").empty());
  EXPECT_TRUE(in_pairs("12345").empty());
  EXPECT_EQ(line_of(digit_by_digit("107", "oh")), "one oh seven");
}

TEST(SpokenWords, AWordIsSplitAtSpacesAndKeepsItsPunctuation) {
  const auto words = written_words("  \u201cWell-known,\u201d  he\tsaid\n\u2014 twice.");
  ASSERT_EQ(words.size(), 5U);
  EXPECT_EQ(words[0].written, "\u201cWell-known,\u201d");
  EXPECT_EQ(words[0].parts.size(), 2U);
  EXPECT_EQ(words[3].written, "\u2014");
  EXPECT_TRUE(words[3].parts.empty());
  EXPECT_EQ(words[4].written, "twice.");
  EXPECT_TRUE(written_words(" \n").empty());
}

TEST(SpokenWords, NumbersHaveTheReadingsOfASpeaker) {
  const std::pair<const char*, const char*> rows[] = {
      {"1984", "nineteen eighty four"},
      {"1984", "one thousand nine hundred eighty four"},
      {"1,984", "one thousand nine hundred and eighty four"},
      {"12,345,678.", "twelve million three hundred forty five thousand six hundred seventy eight"},
      {"(007)", "oh oh seven"},
      {"3.5", "three point five"},
      {".05", "point zero five"},
      {"-4", "minus four"},
      {"21st", "twenty first"},
      {"1980s", "nineteen eighties"},
      {"'90s", "nineties"},
      {"10%", "ten percent"},
      {"10-15", "ten to fifteen"},
      {"10-15", "ten fifteen"},
      {"3/4", "three quarters"},
      {"9/11", "nine eleven"},
      {"5:30", "five thirty"},
      {"5:00", "five o'clock"},
      {"5:00", "five"},
      {"5:05pm", "five oh five p m"},
      {"$5", "five dollars"},
      {"$1", "one dollar"},
      {"$3.50", "three dollars and fifty cents"},
      {"$3.50", "three fifty"},
      {"\u00a320", "twenty pounds"},
      {"\u20ac1,000", "one thousand euros"},
      {"$5 million", "five million dollars"},
      {"#1", "number one"},
      {"5km", "five kilometers"},
      {"10k", "ten thousand"},
      {"1.2.3", "one point two point three"},
      {"B2B", "b two b"},
  };
  for (const auto& [text, as] : rows) EXPECT_TRUE(may_be_read(text, as)) << text << ": " << as;
  EXPECT_FALSE(may_be_read("1984", "nineteen eighty five"));
  EXPECT_FALSE(may_be_read("five million", "five million dollars"));
}

TEST(SpokenWords, AbbreviationsAndSignsAreReadInFull) {
  const std::pair<const char*, const char*> rows[] = {
      {"Dr. Smith's", "doctor smith's"},
      {"St.", "saint"},
      {"U.S.A.,", "u s a"},
      {"NASA", "nasa"},
      {"FBI", "f b i"},
      {"e.g.", "for example"},
      {"etc.", "et cetera"},
      {"AT&T", "a t and t"},
      {"and/or", "and or"},
      {"and/or", "and slash or"},
      {"me@example.com", "me at example dot com"},
      {"Henry VIII", "henry the eighth"},
      {"World War II", "world war two"},
      {"caf\u00e9", "cafe"},
      {"don\u2019t", "don't"},
      {"'tis 'so'", "tis so"},
      {"cold-hearted\u2014rather", "cold hearted rather"},
  };
  for (const auto& [text, as] : rows) EXPECT_TRUE(may_be_read(text, as)) << text << ": " << as;
}

TEST(SpokenWords, HostileTextsHaveFewReadings) {
  for (const std::string& text : {std::string(4'000, '9'), std::string(4'000, '$'), std::string(4'000, '-'),
                                  std::string("$1,234.56/78:00-#3.5%"), std::string("\xff\xc3.\x01")}) {
    for (const WrittenWord& word : written_words(text)) {
      for (const SpokenPart& part : word.parts) {
        EXPECT_LE(part.readings.size(), 40U);
        for (const SpokenWords& reading : part.readings) EXPECT_FALSE(reading.empty());
      }
    }
  }
}

TEST(Pronouncer, UnknownWordsHaveThePhonesOfTheDictionary) {
  EXPECT_EQ(pronounced("selfish"), "S EH L F IH SH");
  EXPECT_EQ(pronounced("kalama"), "K AE L AA M AH");
  EXPECT_EQ(pronounced("'"), "");
  EXPECT_EQ(pronounced(""), "");
  EXPECT_FALSE(pronounced(std::string(5'000, 'x')).empty());
}

}  // namespace
}  // namespace millrace::engines::host
