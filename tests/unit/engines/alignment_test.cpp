#include "ai/engines/host/audio/alignment.h"

#include <cmath>

#include <gtest/gtest.h>

namespace millrace::engines::host {
namespace {

using Sounds = std::vector<AlignedSound>;

WordGraph graph_of(const std::vector<WrittenWord>& words) {
  WordGraph graph;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const SpokenPart& part : words[i].parts) graph.add(part.readings, i);
  }
  return graph;
}

// Sounds of half a second each, with this score per frame.
Sounds sounds_of(const std::vector<std::string>& words, double score = -5) {
  Sounds sounds;
  for (const std::string& word : words) {
    const auto start = static_cast<std::int64_t>(sounds.size()) * 50;
    sounds.push_back({word, start, start + 50, score * 50});
  }
  return sounds;
}

TEST(Alignment, AWrittenWordLastsFromItsFirstSpokenWordToItsLast) {
  const std::vector<WrittenWord> words{{"Pay", {{{{"pay"}}}}},
                                       {"$5", {{{{"five", "dollars"}, {"five"}}}}},
                                       {"--", {}},
                                       {"five", {{{{"five"}}}}}};
  const auto timed =
      timed_words(graph_of(words), words, sounds_of({"", "pay", "five", "", "dollars", "five", ""}));
  ASSERT_EQ(timed.size(), 4U);
  EXPECT_EQ(timed[1].word, "$5");
  EXPECT_EQ(timed[1].start, 100);
  EXPECT_EQ(timed[1].end, 250);
  EXPECT_EQ(timed[2].start, 250);
  EXPECT_EQ(timed[2].end, 250);
  EXPECT_EQ(timed[3].start, 250);
  EXPECT_EQ(timed[3].end, 300);
}

TEST(Alignment, AReadingMayBeTheBeginningOfAnother) {
  const std::vector<WrittenWord> words{{"a", {{{{"five"}, {"five", "five"}}}}}, {"b", {{{{"five"}}}}}};
  const WordGraph graph = graph_of(words);
  EXPECT_EQ(timed_words(graph, words, sounds_of({"five", "five"})).at(1).start, 50);
  EXPECT_EQ(timed_words(graph, words, sounds_of({"five", "five", "five"})).at(1).start, 100);
  EXPECT_TRUE(timed_words(graph, words, sounds_of({"five"})).empty());
  EXPECT_TRUE(timed_words(graph, words, sounds_of({"five", "four"})).empty());
}

TEST(Alignment, ALowScoreMeansThatAWordIsProbablyWrong) {
  const std::vector<WrittenWord> words{{"a", {{{{"a"}}}}}};
  const auto probability = [&](double score) {
    return std::exp(timed_words(graph_of(words), words, sounds_of({"a"}, score)).at(0).log_prob);
  };
  EXPECT_GT(probability(-5), 0.98);
  EXPECT_NEAR(probability(-10.2), 0.5, 0.02);
  EXPECT_LT(probability(-15), 0.02);
}

TEST(Alignment, SecondsOfLowScoresAreImplausible) {
  const std::vector<std::string> ten(10, "word");
  EXPECT_TRUE(is_plausible(sounds_of(ten, -6)));
  EXPECT_FALSE(is_plausible(sounds_of(ten, -8))) << "the mean";
  Sounds sounds = sounds_of(std::vector<std::string>(40, "word"), -5);
  sounds[7].score = sounds[8].score = sounds[20].score = -15 * 50;
  EXPECT_TRUE(is_plausible(sounds)) << "three wrong words";
  sounds[9].score = sounds[10].score = -15 * 50;
  EXPECT_FALSE(is_plausible(sounds)) << "a wrong sentence";
  sounds = sounds_of(std::vector<std::string>(40, "word"), -5);
  for (std::size_t i = 10; i < 16; ++i) sounds[i] = {"", sounds[i].start, sounds[i].end, -12 * 50};
  EXPECT_FALSE(is_plausible(sounds)) << "a silence that is speech";
  EXPECT_TRUE(is_plausible({}));
}

}  // namespace
}  // namespace millrace::engines::host
