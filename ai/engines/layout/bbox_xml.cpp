#include "ai/engines/layout/bbox_xml.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "ai/engines/layout/direction.h"
#include "ai/engines/layout/layer_words.h"
#include "ai/engines/layout/leaders.h"

namespace millrace::engines {
namespace {

constexpr std::string_view kPageStart = "<page ";
constexpr std::string_view kPageEnd = "</page>";
constexpr std::string_view kWordStart = "<word ";
constexpr std::string_view kLineStart = "<line ";
constexpr std::size_t kWithinLine = 40;  // the next word of the same line follows within this many bytes
// pdftohtml writes 1.5 pixels per point.
constexpr float kStyleScale = 1.5F;
constexpr std::size_t kBoldLinesMax = 1000;

// The number in name="…" within a tag; 0 when missing.
float attribute(std::string_view tag, std::string_view name) {
  std::size_t at = 0;
  while ((at = tag.find(name, at)) != std::string_view::npos) {
    const std::size_t value = at + name.size() + 2;
    const bool whole = at > 0 && tag[at - 1] == ' ' && tag.substr(at + name.size(), 2) == "=\"";
    if (whole) {
      float number = 0;
      const char* begin = tag.data() + value;
      std::from_chars(begin, tag.data() + tag.size(), number);
      return number;
    }
    ++at;
  }
  return 0;
}

bool is_control(std::uint32_t code) { return code < 0x20 || code == 0x7F; }

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&out](std::uint32_t value) { out += static_cast<char>(value); };
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return;
  if (is_control(code)) return byte(' ');
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xC0 | (code >> 6));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
  }
  byte(0x80 | (code & 0x3F));
}

// `name` between & and ;
void append_entity(std::string& out, std::string_view name) {
  if (name == "amp") out += '&';
  if (name == "lt") out += '<';
  if (name == "gt") out += '>';
  if (name == "quot") out += '"';
  if (name == "apos") out += '\'';
  if (!name.starts_with('#')) return;
  const bool hex = name.size() > 1 && (name[1] == 'x' || name[1] == 'X');
  const std::string_view digits = name.substr(hex ? 2 : 1);
  std::uint32_t code = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
  append_utf8(out, code);
}

float held(float value) { return std::isnan(value) ? 0 : std::clamp(value, -kFarthest, kFarthest); }

// Far from the corner, floats are coarser than a letter is high, so a box may have no height: it is kept.
Box sane_box(float x0, float y0, float x1, float y1) {
  const Box box{std::min(x0, x1), std::min(y0, y1), std::max(x0, x1), std::max(y0, y1)};
  if (box.y1 > box.y0) return box;
  return {box.x0, box.y0, box.x1, std::max(box.y0 + 1, std::nextafter(box.y0, 2 * kFarthest))};
}

// Parses the four numbers of a word in one pass, in poppler's order: xMin, yMin, xMax, yMax.
Box box_of(std::string_view tag) {
  float values[4] = {};
  std::size_t at = 0;
  for (float& value : values) {
    at = tag.find('"', at);
    if (at == std::string_view::npos) break;
    std::from_chars(tag.data() + at + 1, tag.data() + tag.size(), value);
    at = tag.find('"', at + 1) + 1;
  }
  return sane_box(held(values[0]), held(values[1]), held(values[2]), held(values[3]));
}

// U+FB00 … U+FB06 are glyphs that stand for several letters.
void split_ligatures(std::string& text) {
  constexpr std::string_view kLetters[] = {"ff", "fi", "fl", "ffi", "ffl", "st", "st"};
  for (std::size_t at = 0; (at = text.find("\xEF\xAC", at)) != std::string::npos; ++at) {
    const std::size_t which = at + 2 < text.size() ? static_cast<unsigned char>(text[at + 2]) ^ 0x80U : 7;
    if (which < 7) text.replace(at, 3, kLetters[which]);
  }
}

// U+2044 is set between the digits of a fraction.
void replace_fraction_slash(std::string& text) {
  constexpr std::string_view kSlash = "\u2044";
  for (std::size_t at = 0; (at = text.find(kSlash, at)) != std::string::npos;)
    text.replace(at, kSlash.size(), "/");
}

void set_letters(Word& word) {
  // Ligatures and right-to-left letters never begin with a smaller byte.
  if (std::none_of(word.text.begin(), word.text.end(), [](unsigned char c) { return c >= 0xD6; })) return;
  split_ligatures(word.text);
  replace_fraction_slash(word.text);
  word.leftwards = set_in_reading_order(word.text);
}

// `xml` begins with <page and ends before </page>.
PageText page_of(std::string_view xml) {
  PageText page;
  const std::string_view head = xml.substr(0, xml.find('>'));
  page.width = attribute(head, "width");
  page.height = attribute(head, "height");
  std::size_t at = 0;
  std::size_t last = 0;  // end of the previous word
  std::vector<std::size_t> lines;
  while ((at = xml.find(kWordStart, at)) != std::string_view::npos &&
         page.words.size() < BboxReader::kWordsMax) {
    if (at - last > kWithinLine && xml.substr(last, at - last).find(kLineStart) != std::string_view::npos) {
      lines.push_back(page.words.size());
    }
    const std::size_t open = xml.find('>', at);
    const std::size_t close = open == std::string_view::npos ? open : xml.find("</word>", open);
    if (close == std::string_view::npos) break;
    std::string text;
    append_unescaped(text, xml.substr(open + 1, close - open - 1));
    const std::size_t words_left = BboxReader::kWordsMax - page.words.size();
    for (Word& word : words_within(box_of(xml.substr(at, open - at)), text, words_left)) {
      set_letters(word);
      word.line = static_cast<int>(lines.size());
      page.words.push_back(std::move(word));
    }
    at = last = close;
  }
  mend_lam_alef(page.words);
  mark_orientations(page.words, lines);
  mend_flat_boxes(page.words, lines);
  join_touching(page.words, lines);
  return page;
}

}  // namespace

void append_unescaped(std::string& out, std::string_view xml) {
  for (std::size_t i = 0; i < xml.size(); ++i) {
    const auto end = xml[i] == '&' ? xml.find(';', i) : std::string_view::npos;
    if (end != std::string_view::npos && end - i <= 10) {
      append_entity(out, xml.substr(i + 1, end - i - 1));
      i = end;
    } else {
      out += is_control(static_cast<unsigned char>(xml[i])) ? ' ' : xml[i];
    }
  }
}

void BboxReader::feed(std::string_view piece) {
  if (taken_ > 0) {
    buffer_.erase(0, taken_);
    searched_ -= taken_;
    taken_ = 0;
  }
  buffer_ += piece;
}

std::optional<PageText> BboxReader::next() {
  const std::size_t end = buffer_.find(kPageEnd, std::max(searched_, taken_));
  if (end == std::string::npos) {
    searched_ = std::max(taken_, buffer_.size() - std::min(buffer_.size(), kPageEnd.size()));
    return std::nullopt;
  }
  const std::string_view all(buffer_);
  const std::size_t start = all.find(kPageStart, taken_);
  taken_ = searched_ = end + kPageEnd.size();
  if (start == std::string_view::npos || start > end) return PageText{};
  return page_of(all.substr(start, end - start));
}

std::vector<Box> bold_lines(std::string_view xml) {
  std::vector<Box> lines;
  std::size_t at = 0;
  while (lines.size() < kBoldLinesMax && (at = xml.find("<text ", at)) != std::string_view::npos) {
    const std::size_t open = xml.find('>', at);
    const std::size_t close = xml.find("</text>", at);
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) break;
    const std::string_view inside = xml.substr(open + 1, close - open - 1);
    const bool bold = inside.starts_with("<b>") || inside.starts_with("<i><b>");
    if (bold && (inside.ends_with("</b>") || inside.ends_with("</b></i>"))) {
      const std::string_view tag = xml.substr(at, open - at);
      const float x = attribute(tag, "left") / kStyleScale;
      const float y = attribute(tag, "top") / kStyleScale;
      lines.push_back(
          {x, y, x + attribute(tag, "width") / kStyleScale, y + attribute(tag, "height") / kStyleScale});
    }
    at = close;
  }
  return lines;
}

std::optional<std::vector<Box>> StyleReader::next() {
  const std::size_t end = buffer_.find(kPageEnd);
  if (end == std::string::npos) return std::nullopt;
  auto lines = bold_lines(std::string_view(buffer_).substr(0, end));
  buffer_.erase(0, end + kPageEnd.size());
  return lines;
}

void mark_bold(PageText& page, const std::vector<Box>& lines) {
  if (lines.empty()) return;
  for (Word& word : page.words) {
    const float x = word.box.middle_x();
    const float y = word.box.middle_y();
    word.bold = std::any_of(lines.begin(), lines.end(), [&](const Box& line) {
      return x > line.x0 && x < line.x1 && y > line.y0 && y < line.y1;
    });
  }
}

bool short_text(const PageText& page) {
  constexpr std::size_t kCharactersMin = 20;
  std::size_t characters = 0;
  for (const Word& word : page.words) {
    for (const char c : word.text) {
      if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++characters;
    }
  }
  return characters < kCharactersMin;
}

}  // namespace millrace::engines
