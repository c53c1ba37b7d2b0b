#include "ai/engines/host/pauses.h"

#include <algorithm>

#include "ai/engines/host/loudness.h"
#include "ai/engines/pieces.h"

namespace millrace::engines::host {
namespace {

// In frames.
constexpr std::size_t kPieceMax = kPieceMsMax / kFrameMs;
constexpr std::size_t kPieceMin = kPieceMax / 2;
constexpr std::size_t kPauseMin = 50;
constexpr std::size_t kRestMin = 500;  // what is left after a cut is worth hearing
constexpr std::size_t kHush = 20;      // a quiet place is that long

// The middle of the longest pause within [first, last); 0: there is none.
std::size_t middle_of_pause(const std::vector<bool>& quiet, std::size_t first, std::size_t last) {
  std::size_t best = 0;
  std::size_t longest = kPauseMin - 1;
  std::size_t length = 0;
  for (std::size_t at = first; at < last; ++at) {
    length = quiet[at] ? length + 1 : 0;
    if (length <= longest) continue;
    longest = length;
    best = at + 1 - length / 2;
  }
  return best;
}

std::size_t quietest(std::span<const std::uint8_t> levels, std::size_t first, std::size_t last) {
  std::size_t best = last;
  unsigned least = ~0U;
  unsigned sum = 0;
  for (std::size_t at = first; at < last; ++at) {
    sum += levels[at];
    if (at < first + kHush) continue;
    sum -= levels[at - kHush];
    if (sum > least) continue;  // the latest of equals: fewer pieces
    least = sum;
    best = at + 1 - kHush / 2;
  }
  return best;
}

}  // namespace

std::vector<schemas::AudioPiece> cut_at_pauses(std::span<const std::uint8_t> levels, std::int64_t ms) {
  std::vector<schemas::AudioPiece> pieces;
  if (is_silence(levels)) return pieces;
  const std::vector<bool> quiet = quiet_frames(levels);
  std::size_t start = 0;
  while (levels.size() - start > kPieceMax) {
    const std::size_t last = std::min(start + kPieceMax, levels.size() - kRestMin);
    std::size_t cut = middle_of_pause(quiet, start + kPieceMin, last);
    if (cut == 0) cut = quietest(levels, start + kPieceMin, last);
    pieces.push_back({static_cast<int>(pieces.size()), static_cast<std::int64_t>(start) * kFrameMs,
                      static_cast<std::int64_t>(cut) * kFrameMs});
    start = cut;
  }
  pieces.push_back({static_cast<int>(pieces.size()), static_cast<std::int64_t>(start) * kFrameMs, ms});
  return pieces;
}

}  // namespace millrace::engines::host
