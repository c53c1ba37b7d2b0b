#include "ai/engines/host/pictures/dashed_rules.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace millrace::engines::host {
namespace {

// In heights of small letters.
constexpr float kDashThick = 0.4F;
constexpr float kDashMin = 0.16F;                       // its length
constexpr float kAcrossMost = 1.1F, kDownMost = 0.75F;  // an upright letter is longer
constexpr float kDashedRuleMin = 14;                    // length of the whole line
constexpr float kOffLine = 0.16F;                       // a slanting line moves by so much from dash to dash
// Of the length of a dash.
constexpr float kLonger = 1.3F;   // it is at least so long as it is thick
constexpr float kLongest = 2.6F;  // two dashes meet at the corner of a cell
constexpr float kApartMost = 2;   // between two dashes
constexpr float kAlike = 0.35F;   // usual dashes differ by so much
constexpr float kUsual = 0.7F;    // of the dashes and of the gaps of a line
constexpr float kPixels = 2;      // by which places and lengths are rounded
constexpr std::size_t kDashesMin = 10;
constexpr std::size_t kDashesMost = 6000;  // of a page; more are a pattern

// The sides of a dash along its line and across it.
struct Direction {
  float Box::*from, Box::*to, Box::*low, Box::*high;
  float most;  // length of a dash
  float length(const Box& box) const { return box.*to - box.*from; }
  float thick(const Box& box) const { return box.*high - box.*low; }
};
constexpr Direction kAcross{&Box::x0, &Box::x1, &Box::y0, &Box::y1, kAcrossMost};
constexpr Direction kDown{&Box::y0, &Box::y1, &Box::x0, &Box::x1, kDownMost};

bool is_dash(const Box& piece, const Direction& way, float letters) {
  const float length = way.length(piece), thick = way.thick(piece);
  return thick <= kDashThick * letters && length >= kDashMin * letters && length <= way.most * letters &&
         length >= kLonger * thick;
}

bool goes_on(const Box& last, const Box& next, const Direction& way, float letters) {
  const float shorter = std::min(way.length(last), way.length(next));
  const float apart = next.*way.from - last.*way.to;
  return std::abs(next.*way.low - last.*way.low) <= kOffLine * letters + 1 &&
         std::max(way.length(last), way.length(next)) <= kLongest * shorter + kPixels && apart > 0 &&
         apart <= kApartMost * shorter + kPixels;
}

bool are_alike(std::vector<float> lengths) {
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::ranges::nth_element(lengths, middle);
  const float usual = *middle;
  const auto alike = std::ranges::count_if(
      lengths, [=](float length) { return std::abs(length - usual) <= kAlike * usual + kPixels; });
  return static_cast<float>(alike) >= kUsual * static_cast<float>(lengths.size());
}

bool is_dashed_rule(const std::vector<Box>& dashes, const Direction& way, float letters) {
  if (dashes.size() < kDashesMin) return false;
  if (dashes.back().*way.to - dashes.front().*way.from < kDashedRuleMin * letters) return false;
  std::vector<float> lengths, gaps;
  for (std::size_t i = 0; i < dashes.size(); ++i) {
    lengths.push_back(way.length(dashes[i]));
    if (i > 0) gaps.push_back(dashes[i].*way.from - dashes[i - 1].*way.to);
  }
  return are_alike(std::move(lengths)) && are_alike(std::move(gaps));
}

Box filled(const std::vector<Box>& dashes, std::size_t i, const Direction& way) {
  Box both = united(dashes[i - 1], dashes[i]);
  both.*way.low = std::max(dashes[i - 1].*way.low, dashes[i].*way.low);
  both.*way.high = std::max(both.*way.low + 1, std::min(dashes[i - 1].*way.high, dashes[i].*way.high));
  return both;
}

void add_dashed_rules(const Direction& way, const std::vector<Box>& pieces, float letters,
                      std::vector<std::vector<Box>>& rules) {
  std::vector<Box> dashes;
  std::ranges::copy_if(pieces, std::back_inserter(dashes),
                       [&](const Box& piece) { return is_dash(piece, way, letters); });
  if (dashes.size() < kDashesMin || dashes.size() > kDashesMost) return;
  std::ranges::sort(dashes, {}, way.from);
  std::vector<std::vector<Box>> lines;
  std::size_t open = 0;  // the lines before it have ended
  for (const Box& dash : dashes) {
    while (open < lines.size() && lines[open].back().*way.to + 2 * letters < dash.*way.from) ++open;
    const auto line =
        std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(open), lines.end(),
                     [&](const auto& each) { return goes_on(each.back(), dash, way, letters); });
    if (line != lines.end()) {
      line->push_back(dash);
    } else {
      lines.push_back({dash});
    }
  }
  std::ranges::copy_if(lines, std::back_inserter(rules),
                       [&](const auto& line) { return is_dashed_rule(line, way, letters); });
}

}  // namespace

std::vector<DashedRule> find_dashed_rules(const std::vector<Box>& pieces, float letters) {
  std::vector<DashedRule> rules;
  for (const Direction& way : {kAcross, kDown}) {
    std::vector<std::vector<Box>> lines;
    add_dashed_rules(way, pieces, letters, lines);
    for (auto& dashes : lines) {
      DashedRule& rule = rules.emplace_back();
      for (std::size_t i = 1; i < dashes.size(); ++i) rule.line.push_back(filled(dashes, i, way));
      rule.dashes = std::move(dashes);
    }
  }
  return rules;
}

}  // namespace millrace::engines::host
