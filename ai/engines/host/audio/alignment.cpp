#include "ai/engines/host/audio/alignment.h"

#include <algorithm>
#include <cmath>

namespace millrace::engines::host {
namespace {

// Scores are per frame. Chosen on (ADR 51) 347 pairs of sound and text (real speech and four voices, clean,
// with noise of 15 dB, with music, and over a telephone line): the mean of the right text is at least -6.7,
// with one word in ten wrong -7.0; that of another text is at most -7.6. The worst 2.5 s are at least -7.5
// (right text) and -9.7 (one word in ten wrong); where a sentence is missing, repeated or exchanged, they
// are at most -10.2, without noise.
constexpr double kMeanScoreMin = -7.5;
constexpr std::size_t kWindowFrames = 250;
constexpr double kWindowScoreMin = -9.9;

// Logistic regression of the same data, 1,796 right words and 202 wrong ones: half of the words with a score
// of -10.2 are wrong, and one in twenty with -7.
constexpr double kLogOddsAtZero = 9.7;
constexpr double kLogOddsSlope = 0.95;

double log_prob_of(double score) { return -std::log1p(std::exp(-kLogOddsAtZero - kLogOddsSlope * score)); }

bool is_spoken(const AlignedSound& sound) { return !sound.word.empty(); }

// The links of the path that spells the sounds, one per spoken sound. A text repeats words, and a reading may
// be the beginning of another: all states that are possible after a sound are followed. Empty: no path.
std::vector<std::size_t> path_of(const WordGraph& graph, std::span<const AlignedSound> sounds) {
  std::vector<bool> reached(static_cast<std::size_t>(graph.states));
  reached[0] = true;
  std::vector<std::vector<std::size_t>> layers;  // the links by which each state is reached, per sound
  for (const AlignedSound& sound : sounds) {
    if (!is_spoken(sound)) continue;
    std::vector<bool> next(reached.size());
    auto& layer = layers.emplace_back();
    for (std::size_t i = 0; i < graph.links.size(); ++i) {
      const WordGraph::Link& link = graph.links[i];
      const auto to = static_cast<std::size_t>(link.to);
      if (!reached[static_cast<std::size_t>(link.from)] || next[to] || link.word != sound.word) continue;
      next[to] = true;
      layer.push_back(i);
    }
    reached = std::move(next);
  }
  if (!reached[static_cast<std::size_t>(graph.last)]) return {};
  std::vector<std::size_t> path(layers.size());
  int state = graph.last;
  for (std::size_t i = layers.size(); i-- > 0;) {
    path[i] = *std::find_if(layers[i].begin(), layers[i].end(),
                            [&](std::size_t link) { return graph.links[link].to == state; });
    state = graph.links[path[i]].from;
  }
  return path;
}

}  // namespace

void WordGraph::add(std::span<const SpokenWords> readings, std::size_t written) {
  if (readings.empty()) return;
  const std::size_t from = links.size();
  for (const SpokenWords& reading : readings) {
    int at = last;
    for (std::size_t i = 0; i + 1 < reading.size(); ++i) {
      links.push_back({at, states, reading[i], written});
      at = states++;
    }
    links.push_back({at, -1, reading.back(), written});
  }
  last = states++;
  for (std::size_t i = from; i < links.size(); ++i) {
    if (links[i].to < 0) links[i].to = last;
  }
}

std::vector<RecognisedWord> timed_words(const WordGraph& graph, std::span<const WrittenWord> written,
                                        std::span<const AlignedSound> sounds) {
  const std::vector<std::size_t> path = path_of(graph, sounds);
  if (path.empty()) return {};
  std::vector<RecognisedWord> words;
  std::size_t spoken = 0;  // index into the path
  std::size_t at = 0;      // index into the sounds
  for (std::size_t i = 0; i < written.size(); ++i) {
    const std::int64_t before = words.empty() ? 0 : words.back().end;
    RecognisedWord word{written[i].written, before, before, 0};
    double score = 0;
    std::int64_t frames = 0;
    while (spoken < path.size() && graph.links[path[spoken]].written == i) {
      while (!is_spoken(sounds[at])) ++at;
      if (frames == 0) word.start = sounds[at].start;
      word.end = sounds[at].end;
      score += sounds[at].score;
      frames += sounds[at].end - sounds[at].start;
      ++at;
      ++spoken;
    }
    if (frames > 0) word.log_prob = log_prob_of(score / static_cast<double>(frames));
    words.push_back(std::move(word));
  }
  return words;
}

bool is_plausible(std::span<const AlignedSound> sounds) {
  double spoken = 0;
  std::int64_t frames = 0;
  std::vector<double> sums{0};  // of the scores of the frames before each
  for (const AlignedSound& sound : sounds) {
    const std::int64_t length = sound.end - sound.start;
    if (is_spoken(sound)) {
      spoken += sound.score;
      frames += length;
    }
    for (std::int64_t i = 0; i < length; ++i) {
      sums.push_back(sums.back() + sound.score / static_cast<double>(length));
    }
  }
  if (spoken < kMeanScoreMin * static_cast<double>(frames)) return false;
  for (std::size_t i = kWindowFrames; i < sums.size(); ++i) {
    if (sums[i] - sums[i - kWindowFrames] < kWindowScoreMin * kWindowFrames) return false;
  }
  return true;
}

}  // namespace millrace::engines::host
