#include "ai/engines/host/scan/leftover_reader.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>

#include <tesseract/baseapi.h>
#include <tesseract/resultiterator.h>

#include "ai/engines/host/scan/recognised_words.h"
#include "ai/engines/layout/markers.h"

namespace millrace::engines::host {
namespace {

constexpr std::size_t kLinesLeftMost = 24;  // of a page that are read: some 0.2 s
constexpr std::size_t kTallMost = 400;      // more are no letters
constexpr float kSureOfLeftover = 70;
// In letter heights.
constexpr float kNextTall = 1;     // between two letters of a line
constexpr float kAfterLeader = 4;  // from a leader to the text that it leads to
constexpr float kNextInLine = 1.5F;
constexpr float kAroundLine = 0.25F;
constexpr float kWordTallMin = 0.35F;  // of its line; lower words are labels between the bars of a chart

bool is_held(const Box& letter, const Box& by) {
  return letter.middle_x() > by.x0 - 1 && letter.middle_x() < by.x1 + 1 && letter.y1 > by.y0 &&
         letter.y0 < by.y1;
}

bool share_line(const Box& line, const Box& letter) {
  const float common = std::min(line.y1, letter.y1) - std::max(line.y0, letter.y0);
  return 2 * common > std::max(line.height(), letter.height());
}

// The letters that follow a leader, each close to the one before; an empty box: there are none.
Box end_of(const Leader& leader, const std::vector<Box>& letters) {
  Box end{leader.box.x1, 0, leader.box.x1, 0};
  for (const Box& letter : letters) {  // from left to right
    const bool on_line = std::fabs(letter.y1 - leader.box.y1) < letter.height() / 3;
    if (!on_line || letter.x0 < leader.box.x1) continue;
    const bool first = end.height() <= 0;
    if (letter.x0 - end.x1 > (first ? kAfterLeader : kNextInLine) * letter.height()) break;
    end = first ? letter : united(end, letter);
  }
  return end;
}

// Lines of at least this many letters, each close to the one before.
void add_lines(std::vector<Box> tall, std::size_t least, std::vector<Box>& lines) {
  std::ranges::sort(tall, {}, &Box::x0);
  struct Line {
    Box box;
    std::size_t letters = 1;
  };
  std::vector<Line> found;
  for (const Box& letter : tall) {
    const auto home = std::ranges::find_if(found, [&](const Line& line) {
      return share_line(line.box, letter) && letter.x0 - line.box.x1 < kNextTall * letter.height();
    });
    if (home == found.end()) {
      found.push_back({letter});
    } else {
      home->box = united(home->box, letter);
      ++home->letters;
    }
  }
  for (const Line& line : found) {
    if (line.letters >= least) lines.push_back(line.box);
  }
}

}  // namespace

void remove_badly_read(const std::vector<Box>& pale, std::vector<Word>& words) {
  constexpr float kSureOfPale = 65;
  for (const Box& line : pale) {
    const auto lies_in = [&line](const Word& word) {
      return !word.figure && word.box.middle_x() > line.x0 && word.box.middle_x() < line.x1 &&
             word.box.middle_y() > line.y0 && word.box.middle_y() < line.y1;
    };
    float sum = 0, count = 0;
    for (const Word& word : words) {
      if (!lies_in(word)) continue;
      const auto letters = static_cast<float>(word.text.size());
      sum += word.confidence * letters;
      count += letters;
    }
    if (count > 0 && sum < kSureOfPale * count) std::erase_if(words, lies_in);
  }
}

std::vector<Box> unread_lines(const std::vector<Box>& letters, const std::vector<Word>& words,
                              const std::vector<Box>& others) {
  constexpr std::size_t kLettersOfLine = 5;
  constexpr std::size_t kLettersMost = 2000;  // more are a picture
  std::vector<Box> unread;
  std::ranges::remove_copy_if(letters, std::back_inserter(unread), [&](const Box& letter) {
    const auto holds = [&letter](const Box& box) { return is_held(letter, box); };
    return std::ranges::any_of(words, holds, &Word::box) || std::ranges::any_of(others, holds);
  });
  std::vector<Box> lines;
  if (unread.size() <= kLettersMost) add_lines(std::move(unread), kLettersOfLine, lines);
  return lines;
}

std::vector<Box> lines_left(const std::vector<Box>& letters, const std::vector<Box>& tall,
                            const std::vector<Leader>& leaders, const std::vector<Word>& words,
                            const std::vector<Box>& figures) {
  const auto is_read = [&](const Box& letter) {
    const auto holds = [&letter](const Box& box) { return is_held(letter, box); };
    return std::ranges::any_of(words, holds, &Word::box) || std::ranges::any_of(figures, holds);
  };
  std::vector<Box> lines;
  if (tall.size() <= kTallMost) {
    std::vector<Box> unread;
    std::ranges::remove_copy_if(tall, std::back_inserter(unread), is_read);
    add_lines(std::move(unread), 2, lines);
  }
  std::vector<Box> sorted = leaders.empty() ? std::vector<Box>() : letters;
  std::ranges::sort(sorted, {}, &Box::x0);
  for (const Leader& leader : leaders) {
    const Box end = end_of(leader, sorted);
    if (end.height() > 0 && !is_read(end)) lines.push_back(end);
  }
  if (lines.size() > kLinesLeftMost) lines.resize(kLinesLeftMost);
  return lines;
}

void read_leftovers(tesseract::TessBaseAPI& api, const Prepared& page, const std::vector<Box>& figures,
                    const RunRecogniser& run, PageText& text) {
  auto lines = lines_left(page.letter_boxes, page.tall_boxes, page.leaders, text.words, figures);
  std::ranges::move(unread_lines(page.letter_boxes, text.words, figures), std::back_inserter(lines));
  if (lines.size() > kLinesLeftMost) lines.resize(kLinesLeftMost);
  for (const Box& line : lines) {
    const float around = kAroundLine * line.height();
    const PagePart part =
        part_of(page, {line.x0 - around, line.y0 - around, line.x1 + around, line.y1 + around}, kPartLetters);
    if (!part.gray) continue;
    api.SetImage(part.gray.get());
    api.SetSourceResolution(kAssumedDpi);
    api.SetPageSegMode(tesseract::PSM_SINGLE_LINE);
    if (!run()) return;
    const auto at = first_word(api);
    if (!at) continue;
    do {
      if (at->Empty(tesseract::RIL_WORD)) continue;
      auto word = word_at(*at, part.scale);
      if (!word || word->confidence < kSureOfLeftover || !has_letter_or_digit(word->text)) continue;
      if (word->box.height() < kWordTallMin * line.height()) continue;
      word->box = {word->box.x0 + part.x, line.y0, word->box.x1 + part.x, line.y1};
      text.words.push_back(*std::move(word));
    } while (at->Next(tesseract::RIL_WORD));
  }
}

}  // namespace millrace::engines::host
