#include "ai/engines/host/scan_reader.h"

#include <algorithm>
#include <numeric>

#include "ai/engines/host/bands.h"

namespace millrace::engines::host {
namespace {

using base::Code;

// Two readings below it, the right and the wrong way up: what is on the page is no text, however it lies.
constexpr int kHopelessConfidence = 40;
// By how much another turn has to be better: a few digits are read well either way round.
constexpr int kClearlyBetter = 5;
// Of many letters the guess from ascenders and descenders is right, and reading them again costs most.
constexpr int kFewLetters = 1500;

base::Error too_large() {
  return base::error(Code::kPageFailed, "the page needs more memory than the engine has");
}

std::size_t characters(const Recognised& recognised) {
  const auto& words = recognised.text.words;
  return std::accumulate(words.begin(), words.end(), std::size_t{0},
                         [](std::size_t sum, const Word& word) { return sum + word.text.size(); });
}

bool hopeless(const Recognised& said) { return said.confidence < kHopelessConfidence && !said.sideways; }

bool sure(const Recognised& said) { return said.confidence >= kSureConfidence && !said.sideways; }

// A confident reading of next to nothing is no better than a poor one of the whole page; one in which the
// words stand on end is worse than any that is about as good.
bool better(const Recognised& other, const Recognised& best, int margin) {
  if (other.sideways != best.sideways) margin = other.sideways ? 100 : -kClearlyBetter;
  return other.confidence > best.confidence + margin && 2 * characters(other) >= characters(best);
}

void shift(Box& box, float across, float down) {
  box.x0 += across;
  box.x1 += across;
  box.y0 += down;
  box.y1 += down;
}

// Adds what a band of the picture says.
void append(Recognised band, float across, float down, Recognised& whole) {
  for (Word& word : band.text.words) {
    shift(word.box, across, down);
    whole.text.words.push_back(std::move(word));
  }
  for (Box& figure : band.figures) {
    shift(figure, across, down);
    whole.figures.push_back(figure);
  }
  for (Grid& grid : band.grids) {
    grid.move(across, down);
    whole.grids.push_back(std::move(grid));
  }
}

}  // namespace

base::Result<Reading> ScanReader::read(const Picture& gray) {
  if (!is_long(gray)) return read(gray, prepare(gray));
  // As many pages as it may be, it is one: half as much again as a page gets, and a reason when that is over.
  return in_bands(gray, std::nullopt, recogniser_.time_for(limits_.page_cpu * 3 / 2));
}

base::Result<Reading> ScanReader::read(const Picture& gray, Prepared prepared) {
  return upright(gray, std::move(prepared), recogniser_.time_for(limits_.page_cpu), true);
}

// A page that reads badly is read in other turns, too: as it lay if it was turned on a guess, and every way
// round if it has few letters. The best reading counts.
base::Result<Reading> ScanReader::upright(const Picture& gray, Prepared prepared, const PageTime& time,
                                          bool may_turn) {
  const int guess = prepared.quarter_turns;
  const bool few = prepared.letters <= kFewLetters;
  auto first = recogniser_.recognise(prepared, time);
  if (!first) return std::move(first.error());
  Reading best{std::move(*first), guess};
  if (prepared.blank || !may_turn) return best;
  int readings = 1;
  int hopeless_ones = hopeless(best.recognised) ? 1 : 0;
  for (const int turns : {0, 2, 1, 3}) {
    if (sure(best.recognised) || (readings == 2 && hopeless_ones == 2)) break;
    if (best.recognised.sideways && (turns + best.quarter_turns) % 2 == 0) continue;
    if (turns == guess || (turns != 0 && !few && !best.recognised.sideways)) continue;
    auto other = recogniser_.recognise(prepare(gray, turns), time);
    if (!other) break;
    ++readings;
    if (hopeless(*other)) ++hopeless_ones;
    if (better(*other, best.recognised, turns == 0 ? 0 : kClearlyBetter)) best = {std::move(*other), turns};
  }
  return best;
}

// The first band that says something tells how all of them lie.
base::Result<Reading> ScanReader::in_bands(const Picture& gray, std::optional<int> quarter_turns,
                                           const PageTime& time) {
  Reading whole;
  whole.quarter_turns = quarter_turns.value_or(0);
  whole.recognised.text.width = static_cast<float>(width(gray));
  whole.recognised.text.height = static_cast<float>(height(gray));
  whole.recognised.text.recognised = true;
  const bool wide = width(gray) > height(gray);
  for (const Band band : bands_of(gray)) {
    const Picture piece = cut_out(gray, band);
    if (!piece) return too_large();
    Prepared prepared = quarter_turns ? prepare(piece, 0) : prepare(piece);
    if (prepared.blank) continue;
    auto reading = upright(piece, std::move(prepared), time, !quarter_turns);
    if (!reading) return std::move(reading.error());
    if (!quarter_turns && reading->quarter_turns != 0) {
      const Picture lying = turned(gray, reading->quarter_turns);
      return lying ? in_bands(lying, reading->quarter_turns, time) : too_large();
    }
    if (!reading->recognised.text.words.empty()) quarter_turns = 0;
    const auto along = static_cast<float>(band.first);
    append(std::move(reading->recognised), wide ? along : 0, wide ? 0 : along, whole.recognised);
  }
  return whole;
}

}  // namespace millrace::engines::host
