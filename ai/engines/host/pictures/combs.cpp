#include "ai/engines/host/pictures/combs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

constexpr int kCombInk = 190;  // thin lines are pale on a page that was scaled down
// In letter heights.
constexpr float kCombLow = 1.2F, kCombHigh = 4;
constexpr float kCombWall = 0.3F;
constexpr float kCharacterMin = 0.5F;  // lower ink is a speck or a point
constexpr float kNextCharacter = 0.3F, kEmptyCell = 1.2F;
constexpr float kCombLine = 0.8F;  // of the height of a box: the ink of a line between two
constexpr float kCombSide = 0.85F;
// The width of a cell, of the height of its box; of all cells, it differs by at most this factor.
constexpr float kCellNarrow = 0.35F, kCellWide = 1.3F, kCellsAlike = 1.3F;
constexpr float kGroupApart = 1.8F;  // of the distance of two boxes
constexpr float kBoxesApart = 0.5F;  // of their height
constexpr std::size_t kCellsMin = 3;
constexpr std::size_t kCombPiecesMost = 3;  // of the ink of a character
constexpr std::size_t kCombsMost = 100;
constexpr int kCombMargin = 10;  // pixels around the characters

// The part of the pixels of a column or a row of a picture that is ink.
float inked(Pix* ink, const engines::Box& box) {
  const Picture part = clipped(ink, box);
  l_float32 found = 0;
  return part && pixForegroundFraction(part.get(), &found) == 0 ? found : 0;
}

// Whether most of the columns of a box, which is a strip along its side, have ink.
bool is_side(Pix* ink, const engines::Box& strip) {
  const Picture part = clipped(ink, strip);
  Numa* counts = part ? pixCountPixelsByColumn(part.get()) : nullptr;
  if (counts == nullptr) return false;
  int all = numaGetCount(counts), with_ink = 0;
  for (int i = 0; i < all; ++i) {
    int count = 0;
    numaGetIValue(counts, i, &count);
    with_ink += count > 0 ? 1 : 0;
  }
  numaDestroy(&counts);
  return static_cast<float>(with_ink) >= kCombSide * static_cast<float>(all);
}

// The insides of the boxes that a piece of ink draws, from left to right. Empty: it draws something else.
std::vector<engines::Box> cells_of(Pix* ink, const engines::Box& piece, float letters) {
  const float wall = std::max(2.0F, kCombWall * letters);
  if (piece.height() < kCombLow * letters || piece.height() > kCombHigh * letters) return {};
  if (!is_side(ink, {piece.x0, piece.y0, piece.x1, piece.y0 + wall}) ||
      !is_side(ink, {piece.x0, piece.y1 - wall, piece.x1, piece.y1}))
    return {};
  std::vector<engines::Box> cells;
  float from = -1;  // the end of the last line
  for (float x = piece.x0; x < piece.x1; ++x) {
    if (inked(ink, {x, piece.y0, x + 1, piece.y1}) < kCombLine) continue;
    if (from < 0 && x > piece.x0 + wall) return {};  // open to the left
    if (from >= 0 && x > from + 1) cells.push_back({from, piece.y0 + wall, x, piece.y1 - wall});
    from = x + 1;
  }
  if (from < piece.x1 - wall) return {};
  return cells;
}

struct CombCells {
  std::vector<engines::Box> pieces;  // the lines
  std::vector<engines::Box> cells;
};

// Whether the boxes of a piece stand apart from those before them: day, month and year.
bool begins_a_group(const CombCells& row, const engines::Box& piece, std::size_t cells) {
  const float gap = piece.x0 - row.pieces.back().x1;
  if (cells > 1 || row.cells.size() > row.pieces.size()) return gap > 2;
  return row.pieces.size() > 1 && gap > kGroupApart * (row.pieces[1].x0 - row.pieces[0].x1) + 1;
}

// Boxes beside each other are one field. An empty cell stands between two groups of them.
std::vector<CombCells> rows_of_boxes(Pix* ink, float letters) {
  std::vector<engines::Box> pieces = pieces_of(ink);
  std::ranges::sort(pieces, {}, &engines::Box::x0);
  std::vector<CombCells> rows;
  for (const engines::Box& piece : pieces) {
    std::vector<engines::Box> cells = cells_of(ink, piece, letters);
    if (cells.empty()) continue;
    const auto row = std::ranges::find_if(rows, [&](const CombCells& each) {
      const engines::Box& last = each.pieces.back();
      return std::fabs(last.y0 - piece.y0) < letters / 3 && std::fabs(last.y1 - piece.y1) < letters / 3 &&
             piece.x0 - last.x1 < kBoxesApart * piece.height();
    });
    CombCells& to = row == rows.end() ? rows.emplace_back() : *row;
    if (!to.pieces.empty() && begins_a_group(to, piece, cells.size())) {
      const float x = to.pieces.back().x1;
      to.cells.push_back({x, piece.y0, x, piece.y0});
    }
    to.pieces.push_back(piece);
    std::ranges::move(cells, std::back_inserter(to.cells));
  }
  return rows;
}

bool are_for_characters(std::vector<engines::Box> cells, float letters) {
  std::erase_if(cells, [](const engines::Box& cell) { return cell.height() <= 0; });
  if (cells.size() < kCellsMin) return false;
  const auto [narrow, wide] = std::ranges::minmax(cells, {}, &engines::Box::width);
  const float high = cells.front().height() + 2 * std::max(2.0F, kCombWall * letters);
  return narrow.width() >= kCellNarrow * high && wide.width() <= kCellWide * high &&
         wide.width() <= kCellsAlike * narrow.width() + 2;
}

// The ink of each cell; an empty box: there is none. No boxes: a cell holds more than a character.
std::vector<engines::Box> characters_in(Pix* ink, const std::vector<engines::Box>& cells, float letters) {
  std::vector<engines::Box> characters;
  for (const engines::Box& cell : cells) {
    const Picture part = clipped(ink, cell);
    std::vector<engines::Box> pieces = part ? pieces_of(part.get()) : std::vector<engines::Box>();
    std::erase_if(pieces, [&](const engines::Box& piece) {
      const bool edge = (piece.x0 <= 1 || piece.x1 >= cell.width() - 1) && piece.width() <= 2;
      const bool low = piece.height() < kCharacterMin * letters && pieces.size() == 1;
      return edge || low;
    });
    if (pieces.size() > kCombPiecesMost) return {};
    engines::Box all;
    for (const engines::Box& piece : pieces) all = all.height() > 0 ? united(all, piece) : piece;
    if (all.height() > 0) all = {all.x0 + cell.x0, all.y0 + cell.y0, all.x1 + cell.x0, all.y1 + cell.y0};
    characters.push_back(all);
  }
  return characters;
}

// The characters beside each other, as a line of text.
Picture line_of_characters(const Picture& gray, const std::vector<engines::Box>& characters,
                           const engines::Box& all, float letters) {
  const float next = std::max(2.0F, kNextCharacter * letters);
  float across = 2 * kCombMargin;
  for (const engines::Box& each : characters)
    across += each.height() > 0 ? each.width() + next : kEmptyCell * letters;
  Picture line(pixCreate(static_cast<int>(std::ceil(across)), pixel_at(all.height()) + 2 * kCombMargin, 8));
  if (!line) return line;
  pixSetAll(line.get());
  float x = kCombMargin;
  bool begun = false;
  for (const engines::Box& each : characters) {
    const bool empty = each.height() <= 0;
    if (!empty) {
      pixRasterop(line.get(), pixel_at(x), kCombMargin + pixel_at(each.y0 - all.y0), pixel_at(each.width()),
                  pixel_at(each.height()), PIX_SRC, gray.get(), pixel_at(each.x0), pixel_at(each.y0));
    }
    if (!empty || begun) x += empty ? kEmptyCell * letters : each.width() + next;
    begun = begun || !empty;
  }
  return line;
}

std::optional<Comb> comb_of(const Picture& gray, Pix* ink, const CombCells& row, float letters) {
  if (!are_for_characters(row.cells, letters)) return std::nullopt;
  const std::vector<engines::Box> characters = characters_in(ink, row.cells, letters);
  const auto filled = std::ranges::count_if(characters, [](const auto& each) { return each.height() > 0; });
  const bool connected = 2 * row.pieces.size() <= row.cells.size();  // separate empty boxes are boxes to tick
  if (characters.empty() || (!connected && 2 * filled < std::ssize(characters))) return std::nullopt;
  Comb comb{united(row.pieces.front(), row.pieces.back()), {}, {}};
  for (const engines::Box& each : characters)
    if (each.height() > 0) comb.ink = comb.ink.height() > 0 ? united(comb.ink, each) : each;
  if (filled > 0) comb.line = line_of_characters(gray, characters, comb.ink, letters);
  return comb;
}

}  // namespace

std::vector<Comb> take_combs(const Picture& gray, float letters) {
  std::vector<Comb> combs;
  const Picture ink(pixConvertTo1(gray.get(), kCombInk));
  if (!ink) return combs;
  for (const CombCells& row : rows_of_boxes(ink.get(), letters)) {
    auto comb = comb_of(gray, ink.get(), row, letters);
    if (!comb || combs.size() == kCombsMost) continue;
    for (const engines::Box& piece : row.pieces)
      fill_white(gray, {piece.x0 - 2, piece.y0 - 2, piece.x1 + 2, piece.y1 + 2});
    combs.push_back(*std::move(comb));
  }
  return combs;
}

}  // namespace millrace::engines::host
