#include "ai/engines/host/scan/table_reader.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <utility>

#include <leptonica/allheaders.h>

#include "ai/engines/host/scan/recognised_words.h"

namespace millrace::engines::host {
namespace {

constexpr float kSureOfNumbers = 80;  // a wrong digit is not noticed by a reader
constexpr float kSureOfWords = 60;
constexpr float kEnough = 50;           // for the text of a cell that had none, or a word that was cut
constexpr std::size_t kAgainMost = 24;  // cells of a table that are read again
constexpr int kMarginOfCell = 4;        // pixels: half of the distance to the next cell
constexpr int kBorderOfTurned = 10;     // pixels around it
constexpr float kSureOfTurned = 60;
constexpr float kTurnedHigh = 1.8F;   // times its width and the usual height of a cell
constexpr float kLineHeights = 1.8F;  // of letters: a taller cell may have several lines

bool has_digit(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// A line of a cell that is upright strokes alone is a number of Romans: "|" is I, "ll" is II.
void name_strokes(std::vector<Word>& words) {
  for (Word& word : words) {
    const auto shares_line = [&word](const Word& other) {
      return &other != &word && other.box.middle_y() > word.box.y0 && other.box.middle_y() < word.box.y1;
    };
    const bool strokes = word.text.size() <= 3 && word.text.find_first_not_of("Il|") == std::string::npos;
    if (strokes && std::ranges::none_of(words, shares_line)) word.text.assign(word.text.size(), 'I');
  }
}

}  // namespace

// Whether a cell of the same column is a number in digits: an upright stroke is a 1 then.
bool TableReader::is_below_or_above_a_number(const std::vector<Cell>& cells, std::size_t i) const {
  const auto left = [this](std::size_t k) { return table_.pieces[k].box.x0 - table_.pieces[k].across; };
  const auto right = [this](std::size_t k) { return table_.pieces[k].box.x1 - table_.pieces[k].across; };
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const float common = std::min(right(i), right(k)) - std::max(left(i), left(k));
    if (k == i || 2 * common < std::min(right(i) - left(i), right(k) - left(k))) continue;
    const std::vector<Word>& words = cells[k].words;
    if (words.size() == 1 && words[0].text.find_first_not_of("0123456789") == std::string::npos) return true;
  }
  return false;
}

// A narrow gap between two cells may look like a space within a word.
void TableReader::add_word(const tesseract::LTRResultIterator& at, std::vector<Cell>& cells) const {
  auto word = word_at(at, 1);
  if (!word) return;
  use_capital_height(at, *word);
  use_row_height(at, 1, word->box);
  const float confidence = at.Confidence(tesseract::RIL_WORD);
  std::vector<std::pair<Cell*, Word>> parts;
  const auto symbol = copy_of(at);
  do {
    const std::string text = text_at(*symbol, tesseract::RIL_SYMBOL);
    if (text.empty()) continue;
    const Box box = box_of(*symbol, tesseract::RIL_SYMBOL, 1);
    Cell* cell = &cells[piece_at(table_, box.middle_x(), word->box.middle_y())];
    if (parts.empty() || parts.back().first != cell) {
      parts.push_back({cell, {{box.x0, word->box.y0, box.x1, word->box.y1}, {}}});
    }
    parts.back().second.box.x1 = std::max(parts.back().second.box.x1, box.x1);
    parts.back().second.text += text;
  } while (!symbol->IsAtFinalElement(tesseract::RIL_WORD, tesseract::RIL_SYMBOL) &&
           symbol->Next(tesseract::RIL_SYMBOL));
  if (parts.size() == 1) parts.front().second = *std::move(word);
  for (auto& [cell, part] : parts) {
    cell->words.push_back(std::move(part));
    cell->confidence = std::min(cell->confidence, confidence);
    cell->cut = cell->cut || parts.size() > 1;
  }
}

std::vector<TableReader::Cell> TableReader::cells_of_all() const {
  std::vector<Cell> cells(table_.pieces.size());
  const auto at = first_word(api_);
  if (!at) return cells;
  do {
    if (!at->Empty(tesseract::RIL_WORD)) add_word(*at, cells);
  } while (at->Next(tesseract::RIL_WORD));
  return cells;
}

bool TableReader::is_doubtful(const Cell& cell) {
  if (cell.cut || cell.words.empty()) return true;
  const bool number = std::ranges::any_of(cell.words, has_digit, &Word::text);
  return cell.confidence < (number ? kSureOfNumbers : kSureOfWords);
}

void TableReader::read_again(std::size_t piece, Cell& cell, const Run& run) {
  const Box& box = table_.pieces[piece].box;
  const int x = pixel_at(box.x0) - kMarginOfCell, y = pixel_at(box.y0) - kMarginOfCell;
  api_.SetRectangle(std::max(x, 0), std::max(y, 0), pixel_at(box.x1) + kMarginOfCell - x,
                    pixel_at(box.y1) + kMarginOfCell - y);
  if (!run()) return;
  const Cell again = std::move(cells_of_all()[piece]);
  const bool better = again.confidence > cell.confidence;
  const bool enough = (cell.cut || cell.words.empty()) && again.confidence >= kEnough;
  if (!again.words.empty() && (better || enough)) cell = again;
}

// Reads a cell upwards and downwards, and keeps what is surer.
void TableReader::read_turned(std::size_t piece, Cell& cell, const Run& run) {
  const Box& box = table_.pieces[piece].box;
  Picture part = clipped(table_.apart.get(), box);
  if (part) part.reset(pixAddBorder(part.get(), kBorderOfTurned, 255));
  if (!part) return;
  float best = kSureOfTurned;
  for (const int turns : {1, 3}) {
    const Picture level = turned(part, turns);
    if (!level) continue;
    api_.SetImage(level.get());
    api_.SetSourceResolution(kAssumedDpi);
    api_.SetPageSegMode(tesseract::PSM_SINGLE_BLOCK);
    if (!run()) break;
    Word whole{box, {}};
    const auto at = first_word(api_);
    if (!at) continue;
    do {
      const auto word = at->Empty(tesseract::RIL_WORD) ? std::nullopt : word_at(*at, 1);
      if (!word) continue;
      whole.text += (whole.text.empty() ? "" : " ") + word->text;
      whole.confidence = std::min(whole.confidence, word->confidence);
    } while (at->Next(tesseract::RIL_WORD));
    if (whole.text.empty() || whole.confidence <= best) continue;
    best = whole.confidence;
    cell = {{whole}, best, false};
  }
  api_.SetImage(table_.apart.get());
  api_.SetSourceResolution(kAssumedDpi);
}

base::Result<std::vector<Word>> TableReader::read(const Run& run) {
  api_.SetImage(table_.apart.get());
  api_.SetSourceResolution(kAssumedDpi);
  api_.SetPageSegMode(tesseract::PSM_SINGLE_BLOCK);
  if (auto status = run(); !status) return std::move(status.error());
  confidence_ = api_.MeanTextConf();
  std::vector<Cell> cells = cells_of_all();
  std::vector<float> heights;
  for (const DrawnTable::Piece& piece : table_.pieces) heights.push_back(piece.box.height());
  const auto middle = heights.begin() + static_cast<std::ptrdiff_t>(heights.size() / 2);
  std::ranges::nth_element(heights, middle);
  std::size_t left = kAgainMost;
  for (std::size_t i = 0; i < cells.size() && left > 0; ++i) {
    if (!is_doubtful(cells[i])) continue;
    --left;
    const Box& box = table_.pieces[i].box;
    if (box.height() > kTurnedHigh * box.width() && box.height() > kTurnedHigh * *middle) {
      read_turned(i, cells[i], run);
      continue;
    }
    const bool line = table_.pieces[i].box.height() < kLineHeights * *middle;
    api_.SetPageSegMode(line ? tesseract::PSM_SINGLE_LINE : tesseract::PSM_SINGLE_BLOCK);
    read_again(i, cells[i], run);
  }
  std::vector<Word> words;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!is_below_or_above_a_number(cells, i)) name_strokes(cells[i].words);
    const DrawnTable::Piece& from = table_.pieces[i];
    for (Word& word : cells[i].words) {
      Box& box = word.box;
      box = {box.x0 - from.across, box.y0 - from.down, box.x1 - from.across, box.y1 - from.down};
      words.push_back(std::move(word));
    }
  }
  return words;
}

}  // namespace millrace::engines::host
