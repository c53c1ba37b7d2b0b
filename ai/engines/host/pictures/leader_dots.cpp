#include "ai/engines/host/pictures/leader_dots.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

// In letter heights.
constexpr float kDotSize = 0.42F;
constexpr float kDotStepMax = 2.5F;
constexpr float kSameBase = 0.12F;
constexpr float kSameStep = 0.2F;   // of the step
constexpr float kPixelOff = 1.5F;   // pixels by which a place is rounded
constexpr float kInkAbove = 0.01F;  // of the area above the dots
constexpr std::size_t kDotsMost = 4000;

// Dots that follow each other.
struct Chain {
  std::vector<Box> dots;
  float step = 0;  // average; 0: one dot

  bool goes_on(const Box& dot, float letters) const {
    const Box& last = dots.back();
    const float by = dot.middle_x() - last.middle_x();
    if (std::fabs(dot.y1 - last.y1) > kSameBase * letters + 1 || by < 2 || by > kDotStepMax * letters)
      return false;
    return step == 0 || std::fabs(by - step) < kSameStep * step + kPixelOff;
  }
  void add(const Box& dot) {
    dots.push_back(dot);
    step = (dot.middle_x() - dots.front().middle_x()) / static_cast<float>(dots.size() - 1);
  }
};

std::vector<Box> dots_among(const std::vector<Box>& pieces, float letters) {
  std::vector<Box> dots;
  for (const Box& piece : pieces) {
    const float high = std::max(piece.width(), piece.height());
    if (high <= kDotSize * letters && std::fabs(piece.width() - piece.height()) <= 2) dots.push_back(piece);
  }
  return dots;
}

// Whether there is nothing but paper above the dots, as high as letters would be.
bool is_empty_above(Pix* binary, const Box& row, float letters) {
  const Picture above = clipped(binary, {row.x0, row.y1 - letters, row.x1, row.y0 - 1});
  l_float32 ink = 0;
  return !above || (pixForegroundFraction(above.get(), &ink) == 0 && ink <= kInkAbove);
}

Box row_around(const std::vector<Box>& dots) {
  Box row = dots.front();
  for (const Box& dot : dots) {
    row.x1 = std::max(row.x1, dot.x1);
    row.y0 = std::min(row.y0, dot.y0);
    row.y1 = std::max(row.y1, dot.y1);
  }
  return row;
}

// In letter heights.
constexpr float kBulletMin = 0.3F, kBulletMax = 1.6F;
constexpr float kBulletStepMax = 3.2F;  // of the width of a bullet
constexpr float kSolidPart = 0.66F;     // of the box of a disc is ink
constexpr float kHollowPart = 0.5F;     // of that of a circle is at most
constexpr float kRoundPart = 0.6F;      // a circle has no ink in its corners
constexpr float kBulletFree = 0.4F;     // of their height around them: dithered letters fall into such dots
constexpr std::size_t kBulletsMin = 3;
constexpr std::size_t kBulletRowsMost = 200;  // of a page; more are a pattern

float ink_in(Pix* binary, const Box& box) {
  const Picture part = clipped(binary, box);
  l_float32 ink = 0;
  return part && pixForegroundFraction(part.get(), &ink) == 0 ? ink : 0;
}

// A disc or a circle has paper in its corners, and a square has not.
bool has_round_corner(Pix* binary, const Box& box) {
  const float side = box.width() / 6;
  if (side < 1.2F) return true;  // too small to tell
  return ink_in(binary, {box.x0, box.y0, box.x0 + side, box.y0 + side}) < kRoundPart;
}

bool follows(const Box& last, const Box& next, float step) {
  const float by = next.middle_x() - last.middle_x(), size = last.width();
  const bool alike = std::fabs(next.width() - size) <= 2 && std::fabs(next.height() - last.height()) <= 2 &&
                     std::fabs(next.y1 - last.y1) <= 2;
  return alike && by >= size && by <= kBulletStepMax * size &&
         (step == 0 || std::fabs(by - step) < kSameStep * step + kPixelOff);
}

// What the bullets show; empty: they are letters.
std::string shown_by(const std::vector<Box>& bullets, Pix* binary) {
  std::string text, rating;
  std::size_t solid = 0;
  for (const Box& box : bullets) {
    const float ink = ink_in(binary, box);
    if ((ink < kSolidPart && ink > kHollowPart) || !has_round_corner(binary, box)) return {};
    if (ink >= kSolidPart) ++solid;
    text += "•";
    rating += ink >= kSolidPart ? "●" : "○";
  }
  if (solid == 0) return {};
  return solid == bullets.size() ? text : rating;
}

}  // namespace

std::vector<Leader> find_bullets(const std::vector<Box>& pieces, Pix* binary, float letters) {
  std::vector<Box> round;
  for (const Box& piece : pieces) {
    const float high = std::max(piece.width(), piece.height());
    if (high >= kBulletMin * letters && high <= kBulletMax * letters &&
        std::fabs(piece.width() - piece.height()) <= 2)
      round.push_back(piece);
  }
  std::vector<Leader> found;
  if (round.size() > kDotsMost) return found;
  std::ranges::sort(round, {}, &Box::x0);
  std::vector<bool> taken(round.size());
  for (std::size_t i = 0; i < round.size(); ++i) {
    if (taken[i]) continue;
    Chain chain{{round[i]}};
    std::vector<std::size_t> members{i};
    for (std::size_t k = i + 1; k < round.size(); ++k) {
      const Box& last = chain.dots.back();
      if (round[k].x0 > last.x1 + kBulletStepMax * last.width()) break;
      if (taken[k] || !follows(last, round[k], chain.step)) continue;
      chain.add(round[k]);
      members.push_back(k);
    }
    if (members.size() < kBulletsMin) continue;
    const Box row = row_around(chain.dots);
    const float around = kBulletFree * std::min(row.height(), letters);
    const auto inside = std::ranges::count_if(pieces, [&](const Box& piece) {
      return piece.x1 > row.x0 - around && piece.x0 < row.x1 + around && piece.y1 > row.y0 - around &&
             piece.y0 < row.y1 + around;
    });
    std::string shown =
        static_cast<std::size_t>(inside) == members.size() ? shown_by(chain.dots, binary) : "";
    if (shown.empty()) continue;
    for (const std::size_t member : members) taken[member] = true;
    found.push_back({row, members.size(), std::move(shown)});
    if (found.size() > kBulletRowsMost) return {};
  }
  return found;
}

std::vector<Leader> find_leaders(const std::vector<Box>& pieces, Pix* binary, float letters) {
  std::vector<Box> dots = dots_among(pieces, letters);
  std::vector<Leader> leaders;
  if (dots.size() < kLeaderMin || dots.size() > kDotsMost) return leaders;
  std::ranges::sort(dots, {}, &Box::x0);
  std::vector<Chain> chains;
  std::size_t open = 0;  // the chains before it have ended
  for (const Box& dot : dots) {
    while (open < chains.size() && chains[open].dots.back().x1 + kDotStepMax * letters < dot.x0) ++open;
    const auto home = std::find_if(chains.begin() + static_cast<std::ptrdiff_t>(open), chains.end(),
                                   [&](const Chain& chain) { return chain.goes_on(dot, letters); });
    if (home != chains.end()) {
      home->add(dot);
    } else {
      chains.push_back({{dot}});
    }
  }
  for (const Chain& chain : chains) {
    if (chain.dots.size() < kLeaderMin) continue;
    const Box row = row_around(chain.dots);
    if (is_empty_above(binary, row, letters)) leaders.push_back({row, chain.dots.size(), {}});
  }
  return leaders;
}

}  // namespace millrace::engines::host
