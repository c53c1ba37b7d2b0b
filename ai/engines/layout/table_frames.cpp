#include "ai/engines/layout/table_frames.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace millrace::engines {
namespace {

// In letter heights.
constexpr float kSameExtent = 1;  // how far the ends of the rules of a table may lie apart: noise breaks them
constexpr float kSameExtentOfWidth = 0.04F;  // the same, of the width of a rule; the larger bound counts
constexpr float kBreakMost = 0.8F;           // between two pieces of a rule that noise breaks
constexpr float kRuleMin = 7;                // length of a rule
constexpr float kPieceMin = 2;               // of a piece of a rule
constexpr float kSameHeight = 0.25F;
constexpr std::size_t kPiecesPerPage = 2000, kRulesPerPage = 400;

// Whether lines between two rules may be rows of a table, not a line of prose or nothing.
bool are_tabular(const std::vector<TextLine>& lines, const TableFrame& frame) {
  bool several = false;
  for (const TextLine& line : lines) {
    several = several || line.chunks.size() >= 2;
    const Chunk& first = line.chunks.front();
    if (line.chunks.size() == 1 && first.x1 - first.x0 > kProseWidth * (frame.x1 - frame.x0)) return false;
  }
  return several;
}

// Rules whose pieces noise has parted.
std::vector<Box> joined_rules(std::vector<Box> pieces, float letters) {
  std::ranges::sort(pieces, {}, &Box::x0);
  std::vector<Box> rules;
  for (const Box& piece : pieces) {
    const auto rule = std::ranges::find_if(rules, [&](const Box& each) {
      return std::abs(each.middle_y() - piece.middle_y()) < kSameHeight * letters &&
             piece.x0 - each.x1 < kBreakMost * letters;
    });
    if (rule == rules.end()) {
      rules.push_back(piece);
    } else {
      *rule = united(*rule, piece);
    }
  }
  return rules;
}

// Adds the frames of rules that have one extent.
void add_frames(const std::vector<Box>& rules, const PageText& page, float letters,
                std::vector<TableFrame>& frames) {
  TableFrame frame{rules.front().x0, rules.front().x1, {rules.front().middle_y()}};
  for (std::size_t i = 1; i < rules.size(); ++i) {
    const float y = rules[i].middle_y();
    const auto lines = lines_of(words_between(page, frame, frame.ys.back(), y, letters), kChunkGap * letters);
    if (!are_tabular(lines, frame)) {
      if (frame.ys.size() > 1) frames.push_back(frame);
      frame.ys.clear();
    }
    frame.ys.push_back(y);
  }
  if (frame.ys.size() > 1) frames.push_back(std::move(frame));
}

}  // namespace

std::vector<TextLine> lines_of(Words words, float gap) {
  std::vector<TextLine> lines;
  for (Row& row : make_rows(std::move(words))) {
    TextLine line{row.box.middle_y(), row.box.y0, row.box.y1, {}};
    for (const Word* word : row.words) {
      if (line.chunks.empty() || word->box.x0 - line.chunks.back().x1 > gap)
        line.chunks.push_back({word->box.x0, word->box.x1, {word->box, row.height, {}}});
      Chunk& chunk = line.chunks.back();
      chunk.x1 = std::max(chunk.x1, word->box.x1);
      chunk.row.words.push_back(word);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

Words words_between(const PageText& page, const TableFrame& frame, float top, float bottom, float letters) {
  Words words;
  for (const Word& word : page.words) {
    const float x = word.box.middle_x(), y = word.box.middle_y();
    if (!word.figure && x > frame.x0 - letters && x < frame.x1 + letters && y > top && y < bottom)
      words.push_back(&word);
  }
  return words;
}

std::vector<TableFrame> table_frames(std::vector<Box> rules, const PageText& page, float letters) {
  std::vector<TableFrame> frames;
  std::erase_if(rules, [=](const Box& rule) { return rule.width() < kPieceMin * letters; });
  if (rules.size() > kPiecesPerPage) return frames;
  rules = joined_rules(std::move(rules), letters);
  std::erase_if(rules, [=](const Box& rule) { return rule.width() < kRuleMin * letters; });
  if (rules.size() > kRulesPerPage) return frames;
  std::ranges::sort(rules, {}, &Box::y0);
  while (!rules.empty()) {
    const Box first = rules.front();
    const float same = std::max(kSameExtent * letters, kSameExtentOfWidth * first.width());
    const auto other = [&](const Box& rule) {
      return std::abs(rule.x0 - first.x0) > same || std::abs(rule.x1 - first.x1) > same;
    };
    const auto rest = std::stable_partition(rules.begin(), rules.end(), other);
    add_frames({rest, rules.end()}, page, letters, frames);
    rules.erase(rest, rules.end());
  }
  return frames;
}

}  // namespace millrace::engines
