#include "ai/engines/host/scan/scan_reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>

#include <leptonica/allheaders.h>

#include "ai/engines/layout/number_shape.h"

namespace millrace::engines::host {
namespace {

constexpr int kLongerThan = 2;  // times its short side; a picture closer to a square is a large sheet
constexpr int kBandMax = 3600;  // pixels: half of kSideMax, so that no band is halved
constexpr int kInkBelow = 128;

bool is_wide(const Picture& picture) { return width(picture) > height(picture); }

// Where the band that begins at `first` ends, if it must end before `last`.
int end_of_band(const std::vector<int>& ink, int first, int last) {
  const auto at = [&ink](int row) { return ink[static_cast<std::size_t>(row)]; };
  const int earliest = first + (last - first) / 2;
  int best = last;
  int best_ink = -1;
  int best_rows = 0;
  for (int row = earliest; row < last;) {
    int end = row + 1;
    while (end < last && at(end) == at(row)) ++end;
    const bool fewer = best_ink < 0 || at(row) < best_ink;
    if (fewer || (at(row) == best_ink && end - row >= best_rows)) {
      best = row + (end - row + 1) / 2;
      best_ink = at(row);
      best_rows = end - row;
    }
    row = end;
  }
  return best;
}

// Dark pixels of each row, or bright pixels if most of the picture is dark.
std::vector<int> ink_of(Pix* binary) {
  Numa* counts = pixCountPixelsByRow(binary, nullptr);
  std::vector<int> ink(static_cast<std::size_t>(pixGetHeight(binary)));
  for (std::size_t row = 0; counts != nullptr && row < ink.size(); ++row) {
    numaGetIValue(counts, static_cast<l_int32>(row), &ink[row]);
  }
  numaDestroy(&counts);
  const auto all = std::accumulate(ink.begin(), ink.end(), std::int64_t{0});
  const std::int64_t across = pixGetWidth(binary);
  if (2 * all < across * pixGetHeight(binary)) return ink;
  for (int& row : ink) row = static_cast<int>(across) - row;
  return ink;
}

}  // namespace

bool is_long(const Picture& picture) {
  const int longer = std::max(width(picture), height(picture));
  const int shorter = std::min(width(picture), height(picture));
  return longer > kSideMax && longer > kLongerThan * std::int64_t{shorter};
}

std::vector<Band> bands_of(const std::vector<int>& ink, int rows_max) {
  std::vector<Band> bands;
  const int rows = static_cast<int>(ink.size());
  for (int first = 0; first < rows;) {
    const int last = first + rows_max;
    const int end = last >= rows ? rows : std::max(first + 1, end_of_band(ink, first, last));
    bands.push_back({first, end});
    first = end;
  }
  return bands;
}

std::vector<Band> bands_of(const Picture& gray) {
  Picture binary(pixConvertTo1(gray.get(), kInkBelow));
  if (binary && is_wide(gray)) binary = turned(binary, 1);
  return binary ? bands_of(ink_of(binary.get()), kBandMax) : std::vector<Band>{};
}

Picture cut_out(const Picture& gray, Band band) {
  const int length = band.end - band.first;
  ::Box* box = is_wide(gray) ? boxCreate(band.first, 0, length, height(gray))
                             : boxCreate(0, band.first, width(gray), length);
  Picture piece(box == nullptr ? nullptr : pixClipRectangle(gray.get(), box, nullptr));
  boxDestroy(&box);
  return piece;
}

namespace {

using base::Code;

// When the page is below this confidence both upright and upside down, it has no text in any orientation.
constexpr int kHopelessConfidence = 40;
// Required advantage of another orientation, because a few digits can be read upside down too.
constexpr int kClearlyBetter = 5;
// With many letters, the orientation guess from ascenders and descenders is reliable, and a second reading is
// expensive.
constexpr int kFewLetters = 1500;
// Digits that are upside down stay below this confidence.
constexpr int kSureOfDigits = 88;
constexpr float kDigitsPart = 0.2F;  // of the characters of a page of numbers: prose has fewer

base::Error too_large() {
  return base::error(Code::kPageFailed, "the page needs more memory than the engine has");
}

std::size_t characters(const Recognised& recognised) {
  const auto& words = recognised.text.words;
  return std::accumulate(words.begin(), words.end(), std::size_t{0},
                         [](std::size_t sum, const Word& word) { return sum + word.text.size(); });
}

bool is_unreadable(const Recognised& recognition) {
  return recognition.confidence < kHopelessConfidence && !recognition.sideways;
}

bool sure(const Recognised& recognition) {
  return recognition.confidence >= kSureConfidence && !recognition.sideways;
}

// Whether the words are numbers. They have neither ascenders nor descenders, so the orientation guess says
// nothing, and most digits can be read upside down, as digits or letters.
bool has_many_digits(const Recognised& recognition) {
  std::size_t digits = 0;
  for (const Word& word : recognition.text.words) digits += digits_in(word.text);
  return static_cast<float>(digits) >= kDigitsPart * static_cast<float>(characters(recognition));
}

// Whether the page is read so well that it cannot be upside down. `on_end`: its text ran up or down as it was
// given, so nothing tells yet which of two turns is the right one.
bool decided(const Recognised& recognition, bool on_end) {
  if (!sure(recognition)) return false;
  return recognition.confidence >= kSureOfDigits || (!on_end && !has_many_digits(recognition));
}

// A confident reading of very few words is not better than a poor reading of the whole page. A reading with
// rotated words is worse than any other that is not hopeless: each of its words may be sure.
bool better(const Recognised& other, const Recognised& best, int margin) {
  const bool enough = 2 * characters(other) >= characters(best);
  if (other.sideways && !best.sideways) return false;
  const bool turned_right = best.sideways && !other.sideways && other.confidence >= kHopelessConfidence;
  return enough && (turned_right || other.confidence > best.confidence + margin);
}

void shift(Box& box, float across, float down) {
  box.x0 += across;
  box.x1 += across;
  box.y0 += down;
  box.y1 += down;
}

// Adds the content of a band to the whole picture.
void append(Recognised band, float across, float down, Recognised& whole) {
  for (Word& word : band.text.words) {
    shift(word.box, across, down);
    whole.text.words.push_back(std::move(word));
  }
  for (Box& figure : band.figures) {
    shift(figure, across, down);
    whole.figures.push_back(figure);
  }
  for (Box& rule : band.rules) {
    shift(rule, across, down);
    whole.rules.push_back(rule);
  }
  for (Grid& grid : band.grids) {
    grid.move(across, down);
    whole.grids.push_back(std::move(grid));
  }
  std::ranges::move(band.text.warnings, std::back_inserter(whole.text.warnings));
}

}  // namespace

base::Result<Reading> ScanReader::read(const Picture& gray) {
  if (!is_long(gray)) return read(gray, prepare(gray));
  // However many pages the picture holds, it counts as one: it gets one and a half times the time of a page,
  // and fails with an error after that.
  return in_bands(gray, std::nullopt, recogniser_.time_for(limits_.page_cpu * 3 / 2));
}

base::Result<Reading> ScanReader::read(const Picture& gray, Prepared prepared) {
  const PageTime time = recogniser_.time_for(limits_.page_cpu);
  prepared = turned_rightly(gray, std::move(prepared), time);
  return upright(gray, std::move(prepared), time, true);
}

// Tests the guess for a page of many letters that is turned by it: reads a strip of the page, and the same
// strip upside down. A whole page that is read in the wrong orientation may leave no time for the right one.
Prepared ScanReader::turned_rightly(const Picture& gray, Prepared prepared, const PageTime& time) {
  constexpr int kStripLetters = 600;
  if (prepared.blank || prepared.quarter_turns == 0 || prepared.letters <= kFewLetters) return prepared;
  const Picture page = turned(gray, prepared.quarter_turns);
  if (!page) return prepared;
  const int rows = static_cast<int>(std::int64_t{height(page)} * kStripLetters / prepared.letters);
  const auto top = static_cast<float>((height(page) - rows) / 2);
  const Picture strip =
      clipped(page.get(), {0, top, static_cast<float>(width(page)), top + static_cast<float>(rows)});
  if (!strip) return prepared;
  const auto given = recogniser_.recognise(prepare(strip, 0), time);
  if (!given || given->late || sure(*given)) return prepared;
  const auto over = recogniser_.recognise(prepare(strip, 2), time);
  if (!over || over->late || !better(*over, *given, kClearlyBetter)) return prepared;
  return prepare(gray, (prepared.quarter_turns + 2) % 4);
}

// Tries other orientations for a page that reads badly: the original one if it was turned by a guess, and all
// of them if it has few letters or many digits. A page of numbers that reads well is compared with the same
// page upside down. The best reading is used.
base::Result<Reading> ScanReader::upright(const Picture& gray, Prepared prepared, const PageTime& time,
                                          bool may_turn) {
  const int guess = prepared.quarter_turns;
  auto first = recogniser_.recognise(prepared, time);
  if (!first) return std::move(first.error());
  Reading best{std::move(*first), guess};
  if (prepared.blank || !may_turn || best.recognised.late) return best;
  const bool digits = has_many_digits(best.recognised), few = prepared.letters <= kFewLetters;
  int readings = 1;
  int hopeless_ones = is_unreadable(best.recognised) ? 1 : 0;
  std::optional<int> on_end;  // the quarter turns, modulo 2, at which the text runs up or down
  if (best.recognised.sideways) on_end = guess % 2;
  const bool guessed = !best.recognised.sideways;
  for (const int turns : {0, 2, 1, 3}) {
    if (decided(best.recognised, on_end.has_value()) || (readings == 2 && hopeless_ones == 2)) break;
    if (sure(best.recognised) && turns != (best.quarter_turns + 2) % 4) continue;
    if (turns == guess || on_end == turns % 2) continue;
    if (turns != 0 && guessed && !few && !digits) continue;
    auto other = recogniser_.recognise(prepare(gray, turns), time);
    if (!other || other->late) break;
    ++readings;
    if (is_unreadable(*other)) ++hopeless_ones;
    if (other->sideways && !on_end) on_end = turns % 2;
    const int margin = turns != 0 && guessed && !digits ? kClearlyBetter : 0;
    if (better(*other, best.recognised, margin)) best = {std::move(*other), turns};
  }
  return best;
}

// The first band with text determines the orientation of all bands.
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
    if (!reading) {
      if (reading.error().code != Code::kPageTimeout || whole.recognised.text.words.empty())
        return std::move(reading.error());
      whole.recognised.late = std::move(reading.error());
      break;
    }
    if (!quarter_turns && reading->quarter_turns != 0) {
      const Picture lying = turned(gray, reading->quarter_turns);
      return lying ? in_bands(lying, reading->quarter_turns, time) : too_large();
    }
    if (!reading->recognised.text.words.empty()) quarter_turns = 0;
    const auto along = static_cast<float>(band.first);
    whole.recognised.late = std::move(reading->recognised.late);
    append(std::move(reading->recognised), wide ? along : 0, wide ? 0 : along, whole.recognised);
    if (whole.recognised.late) break;
  }
  return whole;
}

}  // namespace millrace::engines::host
