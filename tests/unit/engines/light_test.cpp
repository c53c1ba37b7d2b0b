#include <gtest/gtest.h>
#include <leptonica/allheaders.h>

#include "ai/engines/host/pictures/cleanup.h"

namespace millrace::engines::host {
namespace {

constexpr l_uint32 kBrightPaper = 240;

// A page with a darker rectangle on it.
Picture paper_with(int x, int y, int width, int height, l_uint32 value) {
  Picture page(pixCreate(800, 1000, 8));
  pixSetAllArbitrary(page.get(), kBrightPaper);
  ::Box* box = boxCreate(x, y, width, height);
  pixSetInRectArbitrary(page.get(), box, value);
  boxDestroy(&box);
  return page;
}

TEST(Light, AShadowFromTheEdgeIsUneven) { EXPECT_TRUE(unevenly_lit(paper_with(0, 0, 400, 1000, 120).get())); }

TEST(Light, APictureWithinTheMarginsIsNone) {
  EXPECT_FALSE(unevenly_lit(paper_with(100, 100, 600, 800, 120).get()));
}

TEST(Light, ABlackBorderIsNone) { EXPECT_FALSE(unevenly_lit(paper_with(0, 0, 64, 1000, 10).get())); }

TEST(Light, PaperInTheShadowBecomesAsBrightAsTheRest) {
  const Picture even = evenly_lit(paper_with(0, 0, 400, 1000, 120).get());
  ASSERT_TRUE(even);
  EXPECT_FALSE(unevenly_lit(even.get()));
}

}  // namespace
}  // namespace millrace::engines::host
