#include "ai/engines/host/speckle.h"

#include <memory>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

constexpr double kDotsOfPage = 1.0 / 500;  // the dots of letters are far below it
constexpr double kDotsOfInk = 1.0 / 10;    // thin slanting strokes of small letters are below it
constexpr int kSmoothInk = 30;             // of smoothed gray: all that is darker is ink
constexpr int kSmoothPaper = 205;          // all that is brighter is paper

struct SelRelease {
  void operator()(Sel* sel) const { selDestroy(&sel); }
};
struct KernelRelease {
  void operator()(L_KERNEL* kernel) const { kernelDestroy(&kernel); }
};
using Kernel = std::unique_ptr<L_KERNEL, KernelRelease>;

double black_pixels(Pix* binary) {
  l_int32 count = 0;
  return binary != nullptr && pixCountPixels(binary, &count, nullptr) == 0 ? count : 0;
}

Picture lone_dots(Pix* binary) {
  const std::unique_ptr<Sel, SelRelease> dot(selCreateFromString(" o oXo o ", 3, 3, "dot"));
  return Picture(dot ? pixHMT(nullptr, binary, dot.get()) : nullptr);
}

Picture smoothed(Pix* gray) {
  const Kernel across(kernelCreateFromString(1, 3, 0, 1, "1 2 1"));
  const Kernel down(kernelCreateFromString(3, 1, 1, 0, "1 2 1"));
  return Picture(across && down ? pixConvolveSep(gray, across.get(), down.get(), 8, 1) : nullptr);
}

}  // namespace

bool speckled(Pix* binary) {
  const double dots = black_pixels(lone_dots(binary).get());
  const double page = 1.0 * pixGetWidth(binary) * pixGetHeight(binary);
  return dots > kDotsOfPage * page && dots > kDotsOfInk * black_pixels(binary);
}

Picture calmed(Pix* gray) {
  Picture calm = smoothed(gray);
  if (calm) pixGammaTRC(calm.get(), calm.get(), 1.0F, kSmoothInk, kSmoothPaper);
  return calm;
}

}  // namespace millrace::engines::host
