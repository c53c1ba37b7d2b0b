#include "ai/engines/layout.h"

#include <algorithm>
#include <cmath>

#include "ai/engines/columns.h"
#include "ai/engines/markers.h"
#include "ai/engines/region.h"

namespace millrace::engines {
namespace {

// Letter height by characters, not by words: captions and marks do not outvote running text.
float body_letters(const Words& words) {
  std::vector<float> heights;
  for (const Word* word : words) {
    if (word->figure) continue;
    heights.insert(heights.end(), std::min<std::size_t>(word->text.size(), 12), word->box.height());
  }
  return std::max(median(std::move(heights)), 1.0F);
}

// The usual step from row to row; wide steps are between paragraphs and say nothing.
float row_pitch(const std::vector<std::vector<Row>>& regions, float letters) {
  std::vector<float> steps;
  for (const auto& rows : regions) {
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const float step = rows[i].box.y0 - rows[i - 1].box.y0;
      if (step > 0.6F * letters && step < 2.2F * letters) steps.push_back(step);
    }
  }
  return steps.empty() ? 1.3F * letters : median(std::move(steps));
}

Words words_of(const PageText& page) {
  Words words;
  words.reserve(page.words.size());
  for (const Word& word : page.words) {
    const bool sane = std::isfinite(word.box.x0 + word.box.x1 + word.box.y0 + word.box.y1);
    if (sane && !word.text.empty() && word.box.x1 >= word.box.x0 && word.box.y1 > word.box.y0)
      words.push_back(&word);
  }
  return words;
}

// A paragraph that runs on from one column to the next.
bool runs_on(const std::vector<Block>& blocks, const Block& next) {
  if (blocks.empty() || next.kind != Block::Kind::kParagraph) return false;
  const Block& last = blocks.back();
  const bool text = last.kind == Block::Kind::kParagraph || last.kind == Block::Kind::kItem;
  return text && !ends_sentence(last.text) && starts_lower(next.text);
}

void append_blocks(std::vector<Block>& all, std::vector<Block> more) {
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (i == 0 && runs_on(all, more[0])) {
      join_line(all.back().text, more[0].text);
    } else {
      all.push_back(std::move(more[i]));
    }
  }
}

// Text that would read as markup at the beginning of a line.
std::string escaped(const std::string& text) {
  const bool markup = text.starts_with('#') || text.starts_with('>') || text.starts_with('|');
  return markup ? "\\" + text : text;
}

std::string markdown_of_block(const Block& block) {
  switch (block.kind) {
    case Block::Kind::kHeading:
      return std::string(static_cast<std::size_t>(block.level), '#') + " " + block.text;
    case Block::Kind::kItem:
      return std::string(static_cast<std::size_t>(block.level) * 3, ' ') + block.marker + " " + block.text;
    case Block::Kind::kParagraph:
      return escaped(block.text);
    case Block::Kind::kTable:
    case Block::Kind::kFigure:
      return block.text;
  }
  return {};
}

std::string joined(const std::vector<Block>& blocks) {
  std::string out;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool in_list =
        i > 0 && blocks[i].kind == Block::Kind::kItem && blocks[i - 1].kind == Block::Kind::kItem;
    if (i > 0) out += in_list ? "\n" : "\n\n";
    out += markdown_of_block(blocks[i]);
  }
  return out;
}

}  // namespace

std::string markdown_of(const PageText& page) {
  const Words words = words_of(page);
  PageMetrics metrics{page.index, page.height, page.recognised, body_letters(words), 0};
  std::vector<std::vector<Row>> regions;
  for (Words& region : reading_order(words)) regions.push_back(make_rows(std::move(region)));
  metrics.pitch = row_pitch(regions, metrics.letters);
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    append_blocks(blocks, RegionReader(metrics, std::move(regions[i]), i == 0).read());
  }
  return joined(blocks);
}

}  // namespace millrace::engines
