#include "ai/engines/layout/layout.h"

#include <algorithm>
#include <cmath>

#include "ai/engines/layout/bullets.h"
#include "ai/engines/layout/check_boxes.h"
#include "ai/engines/layout/columns.h"
#include "ai/engines/layout/direction.h"
#include "ai/engines/layout/leaders.h"
#include "ai/engines/layout/literal.h"
#include "ai/engines/layout/markers.h"
#include "ai/engines/layout/region.h"
#include "ai/engines/layout/stamps.h"

namespace millrace::engines {
namespace {

constexpr float kGutter = 2;  // minimum distance of two columns, in letter heights

constexpr float kNearestRows = 0.6F,
                kFarthestRows = 2.2F;  // letter heights from one line of a text to the next
constexpr float kWideStep = 1.3F;      // of the pitch: paragraphs are this far apart
constexpr float kUsualPitch = 1.3F;    // letter heights
constexpr float kWidePitch = 1.6F;     // of text with double spacing, or from paragraph to paragraph
constexpr float kCloseSteps = 0.05F;   // of all steps
constexpr std::size_t kCloseStepsMin = 1;
constexpr float kRunningSteps = 0.5F;  // of the wide steps
constexpr float kFullLine = 0.85F;     // of the width of its region

struct Step {
  float distance = 0;
  bool running = false;  // a text goes on from the upper row to the lower one
};

std::vector<Step> steps_of(const std::vector<std::vector<Row>>& regions, float letters) {
  std::vector<Step> steps;
  for (const auto& rows : regions) {
    const Box box = rows.empty() ? Box{} : bounds(rows);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const float distance = rows[i].box.y0 - rows[i - 1].box.y0;
      if (distance <= kNearestRows * letters || distance >= kFarthestRows * letters) continue;
      const bool full = rows[i - 1].box.x1 > box.x0 + kFullLine * box.width();
      const bool running = starts_lower(rows[i].text()) || (full && !ends_sentence(rows[i - 1].text()));
      steps.push_back({distance, running});
    }
  }
  return steps;
}

float median_step(const std::vector<Step>& steps) {
  std::vector<float> distances;
  for (const Step& step : steps) distances.push_back(step.distance);
  return median(std::move(distances));
}

// The typical distance between rows; large distances are paragraph gaps and are ignored. Where most
// paragraphs have one line, as in a letter, the distance of those lines is no pitch.
float row_pitch(const std::vector<std::vector<Row>>& regions, float letters) {
  const std::vector<Step> steps = steps_of(regions, letters);
  if (steps.empty()) return kUsualPitch * letters;
  const float usual = median_step(steps);
  std::vector<Step> close, wide;
  for (const Step& step : steps) (kWideStep * step.distance < usual ? close : wide).push_back(step);
  const bool few = close.size() < kCloseStepsMin ||
                   static_cast<float>(close.size()) < kCloseSteps * static_cast<float>(steps.size());
  const auto running = std::ranges::count_if(wide, &Step::running);
  if (static_cast<float>(running) > kRunningSteps * static_cast<float>(wide.size())) return usual;
  if (!few) return median_step(close);
  return usual > kWidePitch * letters ? kUsualPitch * letters : usual;
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

// Whether a paragraph continues from one column to the next. Lines that were ended on purpose do not.
bool runs_on(const std::vector<Block>& blocks, const Block& next) {
  if (blocks.empty() || next.kind != Block::Kind::kParagraph) return false;
  const Block& last = blocks.back();
  if (last.text.find(kLineBreak) != std::string::npos) return false;
  const bool text = last.kind == Block::Kind::kParagraph || last.kind == Block::Kind::kItem;
  return text && !ends_sentence(last.text) && starts_lower(next.text);
}

constexpr float kNextColumn = 1.5F;  // of the width of a column: the text below two columns is wider

void append_blocks(std::vector<Block>& all, std::vector<Block> more, bool next_column) {
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (i == 0 && next_column && runs_on(all, more[0])) {
      join_line(all.back().text, more[0].text);
    } else {
      all.push_back(std::move(more[i]));
    }
  }
}

// Whether a block has only soft hyphens and spaces. As an item, it would turn the line above into a heading.
bool is_blank(const Block& block) { return block.text.find_first_not_of(" \t\n\u00ad") == std::string::npos; }

bool is_item(const Block& block) { return block.kind == Block::Kind::kItem; }

bool known_to_markdown(const std::string& marker) {
  return marker == "-" || (marker.front() >= '0' && marker.front() <= '9');
}

// Whether markdown begins an item here; otherwise the line becomes part of the paragraph above. A nested list
// must begin with the number 1.
bool begins_item(const Block& block, const Block* above) {
  const bool nested = above != nullptr && block.level > above->level;
  return known_to_markdown(block.marker) && (!nested || block.marker == "-" || block.marker == "1.");
}

// Whether markdown merges some of the items from `first` on into one paragraph.
bool are_loose(const std::vector<Block>& blocks, std::size_t first) {
  for (std::size_t i = first; i < blocks.size() && is_item(blocks[i]); ++i) {
    if (!begins_item(blocks[i], i > first ? &blocks[i - 1] : nullptr)) return true;
  }
  return false;
}

Place place_of_item(const Block& block, bool among_loose) {
  if (!known_to_markdown(block.marker)) return Place::kLoose;
  return among_loose ? Place::kAmongLoose : Place::kItem;
}

// Indentation of list items: a nested item begins at the text of its parent or further to the right.
class Indents {
 public:
  // Indentation of the next item.
  std::size_t of(const Block& item) {
    inside_.resize(std::min(static_cast<std::size_t>(item.level), inside_.size()));
    const std::size_t indent = inside_.empty() ? 0 : inside_.back();
    inside_.push_back(indent + std::max(kIndentMin, item.marker.size() + 1));
    return indent;
  }

 private:
  static constexpr std::size_t kIndentMin = 3;
  std::vector<std::size_t> inside_;  // indentation inside the last item, by depth
};

std::string markdown_of_block(const Block& block, bool among_loose) {
  switch (block.kind) {
    case Block::Kind::kHeading:
      return std::string(static_cast<std::size_t>(block.level), '#') + " " +
             literal(block.text, Place::kHeading);
    case Block::Kind::kItem:
      return block.marker + " " + literal(block.text, place_of_item(block, among_loose));
    case Block::Kind::kParagraph:
      return literal(block.text, Place::kParagraph);
    case Block::Kind::kTable:
    case Block::Kind::kFigure:
      return block.text;
  }
  return {};
}

std::string joined(std::vector<Block> blocks) {
  std::erase_if(blocks, is_blank);
  std::string out;
  bool among_loose = false;
  Indents indents;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool in_list = i > 0 && is_item(blocks[i]) && is_item(blocks[i - 1]);
    if (!in_list) {
      among_loose = are_loose(blocks, i);
      indents = {};
    }
    if (i > 0) out += in_list ? "\n" : "\n\n";
    if (is_item(blocks[i])) out.append(indents.of(blocks[i]), ' ');
    out += markdown_of_block(blocks[i], among_loose);
  }
  return out;
}

// The rightmost position that the rows of a region could reach: the gutter before the region to its right;
// without one, the right margin of the page, which is assumed to equal the left one.
float right_edge(const std::vector<Box>& regions, std::size_t which, const PageMetrics& metrics,
                 float page_width) {
  const Box& box = regions[which];
  float left = box.x0, right = box.x1, next = page_width;
  for (const Box& other : regions) {
    const bool beside = other.y0 < box.y1 && other.y1 > box.y0;
    if (beside && other.x0 > box.x1) next = std::min(next, other.x0 - kGutter * metrics.letters);
    left = std::min(left, other.x0);
    right = std::max(right, other.x1);
  }
  return std::max(box.x1, std::min(next, std::max(right, page_width - left)));
}

std::string markdown_of_plain(const PageText& given) {
  const auto apart = with_leaders_apart(given);
  const PageText& page = apart ? *apart : given;
  const Words words = words_of(page);
  const float letters = page.letters > 0 ? page.letters : body_letters(words);
  PageMetrics metrics{page.index, page.height, page.recognised, letters, 0, 0};
  std::vector<std::vector<Row>> regions;
  std::deque<Word> bullets;
  std::vector<Box> boxes;
  for (Words& region : reading_order(words)) {
    boxes.push_back(bounds(region));
    regions.push_back(make_rows(std::move(region)));
    name_bullets(regions.back(), letters, page.recognised, bullets);
    metrics.rows += regions.back().size();
  }
  metrics.pitch = row_pitch(regions, metrics.letters);
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const float right = right_edge(boxes, i, metrics, page.width);
    const bool next_column = i > 0 && boxes[i].width() < kNextColumn * boxes[i - 1].width();
    append_blocks(blocks, RegionReader(metrics, std::move(regions[i]), right, i == 0).read(), next_column);
  }
  return joined(std::move(blocks));
}

void append_apart(std::string& out, const std::string& text) {
  if (!out.empty() && !text.empty()) out += "\n\n";
  out += text;
}

std::string markdown_of_directions(const PageText& page) {
  if (runs_plainly(page)) return markdown_of_plain(page);
  std::string out;
  for (const PageText& part : plain_pages(page)) append_apart(out, markdown_of_plain(part));
  return out;
}

}  // namespace

std::string markdown_of(const PageText& page) {
  const auto unstamped = without_stamps(page);
  if (!unstamped) return with_plain_check_boxes(markdown_of_directions(page));
  std::string out = with_plain_check_boxes(markdown_of_directions(unstamped->page));
  append_stamps(unstamped->stamps, out);
  return out;
}

std::vector<std::string> take_stamps(PageText& page) {
  auto unstamped = without_stamps(page);
  if (!unstamped) return {};
  page = std::move(unstamped->page);
  return std::move(unstamped->stamps);
}

void append_stamps(const std::vector<std::string>& stamps, std::string& markdown) {
  for (const std::string& stamp : stamps) append_apart(markdown, literal(stamp, Place::kParagraph));
}

}  // namespace millrace::engines
