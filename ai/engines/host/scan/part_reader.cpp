#include "ai/engines/host/scan/part_reader.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <tesseract/baseapi.h>
#include <tesseract/resultiterator.h>

#include "ai/engines/host/pictures/drawn_tables.h"
#include "ai/engines/host/scan/recognised_words.h"
#include "schemas/json/json_text.h"

namespace millrace::engines::host {
namespace {

constexpr float kCompletePart = 0.9F;        // of the characters of the first reading
constexpr float kAboutAsSureAsFirst = 3;     // of confidence
constexpr float kReachOver = 0.3F;           // of the height of a word that is cut, on both sides
constexpr std::size_t kReadAgainMost = 700;  // of a page that are read again: some 0.3 s

bool lies_in(const Word& word, const Box& box) {
  const float x = word.box.middle_x(), y = word.box.middle_y();
  return !word.figure && x > box.x0 && x < box.x1 && y > box.y0 && y < box.y1;
}

struct Amount {
  std::size_t characters = 0;
  float confidence = 0;  // average over the characters
};

void count(const Word& word, Amount& amount) {
  const std::size_t more = schemas::characters(word.text);
  const auto all = static_cast<float>(amount.characters + more);
  if (more == 0) return;
  amount.confidence += (word.confidence - amount.confidence) * static_cast<float>(more) / all;
  amount.characters += more;
}

Amount amount_in(const std::vector<Word>& words, const Box& box) {
  Amount amount;
  for (const Word& word : words) {
    if (lies_in(word, box)) count(word, amount);
  }
  return amount;
}

}  // namespace

bool cuts_words(const Box& box, const std::vector<Word>& words) {
  return std::ranges::any_of(words, [&box](const Word& word) {
    if (word.figure || word.box.middle_y() < box.y0 || word.box.middle_y() > box.y1) return false;
    const float reach = kReachOver * word.box.height();
    const auto crosses = [&](float side) { return word.box.x0 < side - reach && word.box.x1 > side + reach; };
    return crosses(box.x0) || crosses(box.x1);
  });
}

std::vector<Word> PartReader::words_in(const Box& box) {
  std::vector<Word> words;
  const PagePart part = part_of(page_, box, kPartLetters);
  if (!part.gray) return words;
  erase_rules(part.gray, part.letters);
  api_.SetImage(part.gray.get());
  api_.SetSourceResolution(kAssumedDpi);
  api_.SetPageSegMode(tesseract::PSM_SINGLE_BLOCK);
  if (!run_()) return words;
  const auto at = first_word(api_);
  if (!at) return words;
  do {
    if (at->Empty(tesseract::RIL_WORD)) continue;
    auto word = word_at(*at, part.scale);
    if (!word) continue;
    use_capital_height(*at, *word);
    use_row_height(*at, part.scale, word->box);
    word->box = {word->box.x0 + part.x, word->box.y0 + part.y, word->box.x1 + part.x, word->box.y1 + part.y};
    words.push_back(*std::move(word));
  } while (at->Next(tesseract::RIL_WORD));
  return words;
}

// False: there is too much text.
bool PartReader::take(const Box& box, PageText& text) {
  const Amount first = amount_in(text.words, box);
  if (first.characters > left_) return false;
  left_ -= first.characters;
  std::vector<Word> words = words_in(box);
  Amount again;
  for (const Word& word : words) count(word, again);
  const bool complete =
      static_cast<float>(again.characters) >= kCompletePart * static_cast<float>(first.characters);
  if (!complete || again.confidence < first.confidence - kAboutAsSureAsFirst) return true;
  std::erase_if(text.words, [&](const Word& word) { return lies_in(word, box); });
  std::ranges::move(words, std::back_inserter(text.words));
  return true;
}

void PartReader::read_again(const std::vector<TableRegion>& tables, PageText& text) {
  left_ = kReadAgainMost;
  for (const TableRegion& table : tables) {
    if (!cuts_words(table.box, text.words) && take(table.box, text)) continue;
    for (const Box& column : table.columns) {
      if (!cuts_words(column, text.words)) take(column, text);
    }
  }
}

}  // namespace millrace::engines::host
