#include "ai/engines/host/pictures/pixels.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <leptonica/allheaders.h>

#include "ai/engines/host/pictures/cleanup.h"
#include "ai/engines/host/pictures/combs.h"
#include "ai/engines/host/pictures/drawn_tables.h"
#include "ai/engines/host/pictures/page_part.h"
#include "ai/engines/host/pictures/pale_text.h"
#include "ai/engines/host/pictures/shapes.h"
#include "platform/base/base64.h"

namespace millrace::engines::host {
namespace {

constexpr float kLetterTarget =
    11.5F;  // pixels: the median component of a page that costs least at the best CER
constexpr float kLargerThan = 1.15F;
constexpr float kSmallerThan = 0.75F;
constexpr double kEnlargeMax = 2.5;
constexpr int kBlankComponents = 3;
constexpr int kCalmedMax = 2;  // maximum number of passes: each also damages letters
constexpr int kPiecesMax =
    50'000;                    // larger than one pixel: more pieces take longer than the time limit of a page
constexpr int kLetterMin = 4;  // pixels: lower pieces are specks
constexpr int kLetterMax = 160;         // pixels: higher letters are measured on a smaller page
constexpr float kTallestLetter = 0.4F;  // of the shorter side of the page
constexpr int kMarkMin = 3;             // pixels, at the letter size of kLetterTarget
constexpr int kMarkMax = 12;
constexpr std::size_t kMarksMax = 5000;
constexpr int kMiddleGray = 128;
constexpr int kPaperMin = 96;
constexpr float kSkewMin = 0.25F;  // degrees
constexpr float kSkewSure = 3;     // leptonica's confidence: text in lines is above it
constexpr float kSkewNear = 6.0F;  // degrees that leptonica's sweep finds reliably
constexpr float kSkewFar = 20.0F;  // the wide sweep, for pages where the near one finds nothing
constexpr float kSkewStep = 1.0F;
constexpr float kSkewExact = 0.05F;
constexpr int kBright = 160;  // of ink on a transparent background
constexpr float kBrightPart = 0.99F;
constexpr double kSampledPixels = 1e6;
constexpr int kPieceQuality = 80;  // of JPEG files
constexpr int kSmallQuality = 70;

Picture owned(Pix* pix) { return Picture(pix); }

struct BoxaRelease {
  void operator()(Boxa* boxa) const { boxaDestroy(&boxa); }
};

// The brightness of the paper: the most frequent gray value in the bright range; -1 for a dark page.
int paper_value(Pix* gray) {
  Numa* histogram = pixGetGrayHistogram(gray, 4);
  if (histogram == nullptr) return 255;
  int best = 255;
  float most = 0;
  float bright = 0;
  float all = 0;
  for (int value = 0; value < 256; ++value) {
    float count = 0;
    numaGetFValue(histogram, value, &count);
    all += count;
    if (value < kPaperMin) continue;
    bright += count;
    if (count >= most) {
      most = count;
      best = value;
    }
  }
  numaDestroy(&histogram);
  return bright * 2 < all ? -1 : best;
}

Picture binary_of(Pix* gray, int paper) {
  return owned(pixConvertTo1(gray, std::clamp(paper * 5 / 8, 60, 160)));
}

struct Letters {
  float height = 0;
  int count = 0;
};

// Components that could be letters: not specks, rules or pictures. On a page of large type, most of them are
// tall.
Letters letters_of(Pix* binary) {
  std::vector<int> heights, tall;
  const float tallest =
      kTallestLetter * static_cast<float>(std::min(pixGetWidth(binary), pixGetHeight(binary)));
  for (const Box& piece : pieces_of(binary)) {
    const int w = static_cast<int>(piece.width()), h = static_cast<int>(piece.height());
    if (h < kLetterMin || w < 2 || w > 4 * h) continue;
    if (h <= kLetterMax) {
      heights.push_back(h);
    } else if (static_cast<float>(h) <= tallest) {
      tall.push_back(h);
    }
  }
  if (tall.size() > heights.size()) heights = std::move(tall);
  if (heights.empty()) return {};
  const auto middle = heights.begin() + static_cast<std::ptrdiff_t>(heights.size() / 2);
  std::nth_element(heights.begin(), middle, heights.end());
  return {static_cast<float>(*middle), static_cast<int>(heights.size())};
}

// 0 when leptonica cannot determine the orientation.
int quarter_turns_of(Pix* binary) {
  float up = 0;
  float left = 0;
  if (pixOrientDetect(binary, &up, &left, 0, 0) != 0) return 0;
  l_int32 orientation = L_TEXT_ORIENT_UNKNOWN;
  if (makeOrientDecision(up, left, 0, 0, &orientation, 0) != 0) return 0;
  if (orientation == L_TEXT_ORIENT_LEFT) return 1;
  if (orientation == L_TEXT_ORIENT_DOWN) return 2;
  return orientation == L_TEXT_ORIENT_RIGHT ? 3 : 0;
}

bool is_letter(int w, int h) {
  constexpr auto kTarget = static_cast<int>(kLetterTarget);
  return h >= kTarget * 2 / 3 && h <= kTarget * 2 && w >= 2 && w <= kTarget * 2;
}

bool is_tall_letter(int w, int h) {
  constexpr auto kTarget = static_cast<int>(kLetterTarget);
  return h > kTarget * 3 && h <= kTarget * 24 && w <= 2 * h && 12 * w >= h;
}

// Solid dots between a third of the letter height and the letter height.
bool is_mark(int w, int h) { return h >= kMarkMin && h <= kMarkMax && std::abs(w - h) <= 2; }

Box unscaled(const Box& box, double scale) {
  const auto back = [scale](float value) { return static_cast<float>(value / scale); };
  return {back(box.x0), back(box.y0), back(box.x1), back(box.y1)};
}

// Measures the scaled page; the boxes are in pixels of the given page.
void find_marks_and_letters(const Picture& gray, Prepared& result) {
  const Picture binary = owned(pixConvertTo1(gray.get(), kMiddleGray));
  if (!binary) return;
  result.marks.clear();
  result.letter_boxes.clear();
  result.tall_boxes.clear();
  int pieces = 0;
  for (const Box& piece : pieces_of(binary.get())) {
    const int w = static_cast<int>(piece.width()), h = static_cast<int>(piece.height());
    if (std::max(w, h) > 1) ++pieces;
    const Box box = unscaled(piece, result.scale);
    if (is_mark(w, h) && result.marks.size() < kMarksMax) result.marks.push_back(box);
    if (is_letter(w, h)) result.letter_boxes.push_back(box);
    if (is_tall_letter(w, h)) result.tall_boxes.push_back(box);
  }
  result.noise = pieces > kPiecesMax;
}

// Skew in degrees; nullopt: no text in lines. The near sweep suffices for nearly all pages and is cheaper.
std::optional<float> skew_of(Pix* binary) {
  float angle = 0;
  float confidence = 0;
  const bool near = pixFindSkew(binary, &angle, &confidence) == 0 && confidence >= kSkewSure;
  if (near && std::fabs(angle) <= kSkewNear) return angle;
  const bool far =
      pixFindSkewSweepAndSearch(binary, &angle, &confidence, 4, 2, kSkewFar, kSkewStep, kSkewExact) == 0;
  if (far && confidence >= kSkewSure) return angle;
  return std::nullopt;
}

// 0: the page is straight, or has no text in lines.
float angle_of(Pix* binary) {
  const float angle = skew_of(binary).value_or(0);
  return std::fabs(angle) < kSkewMin ? 0 : angle;
}

// Inverts a dark page; returns the brightness of the paper.
int whiten_dark(Picture& gray) {
  const int paper = paper_value(gray.get());
  if (paper >= 0) return paper;
  Picture bright = owned(pixInvert(nullptr, gray.get()));
  if (bright) gray = std::move(bright);
  return std::max(paper_value(gray.get()), kPaperMin);
}

// Empty: leptonica failed.
std::string jpeg_of(Pix* picture, int quality) {
  l_uint8* bytes = nullptr;
  std::size_t size = 0;
  if (pixWriteMemJpeg(&bytes, &size, picture, quality, 0) != 0) return {};
  std::string jpeg(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return jpeg;
}

// Whether the picture is bright ink on a transparent background: most of it is transparent, and nearly all of
// the rest is bright. A bright card with transparent corners does not count. Samples some pixels of a large
// picture.
bool bright_ink(Pix* picture) {
  const int across = pixGetWidth(picture);
  const int down = pixGetHeight(picture);
  const int step = std::max(1, static_cast<int>(std::sqrt(double{1} * across * down / kSampledPixels)));
  int seen = 0;
  int opaque = 0;
  int bright = 0;
  for (int y = 0; y < down; y += step) {
    const l_uint32* line = pixGetData(picture) + static_cast<std::ptrdiff_t>(y) * pixGetWpl(picture);
    for (int x = 0; x < across; x += step) {
      ++seen;
      l_int32 red = 0, green = 0, blue = 0;
      extractRGBValues(line[x], &red, &green, &blue);
      if ((line[x] & 0xFF) < kMiddleGray) continue;
      ++opaque;
      if (3 * red + 6 * green + blue >= 10 * kBright) ++bright;
    }
  }
  const bool on_clear_ground = opaque > 0 && opaque < seen - opaque;
  return on_clear_ground && static_cast<float>(bright) >= kBrightPart * static_cast<float>(opaque);
}

// A page prepared for measurements: bright paper, its brightness, and the ink.
struct Sheet {
  Picture gray;
  int paper = 0;
  Picture binary;
};

// Evens out the light. If that fails, the page is read unchanged.
void even_out(Sheet& sheet) {
  if (!unevenly_lit(sheet.gray.get())) return;
  Picture even = evenly_lit(sheet.gray.get());
  if (!even) return;
  sheet.gray = std::move(even);
  sheet.paper = std::max(paper_value(sheet.gray.get()), kPaperMin);
}

Sheet sheet_of(Picture gray) {
  Sheet sheet{std::move(gray), 0, {}};
  if (!sheet.gray) return sheet;
  sheet.paper = whiten_dark(sheet.gray);
  even_out(sheet);
  sheet.binary = binary_of(sheet.gray.get(), sheet.paper);
  for (int times = 0; times < kCalmedMax && sheet.binary && speckled(sheet.binary.get()); ++times) {
    sheet.gray = despeckled(sheet.gray.get());
    sheet.paper = sheet.gray ? std::max(paper_value(sheet.gray.get()), kPaperMin) : 0;
    sheet.binary = sheet.gray ? binary_of(sheet.gray.get(), sheet.paper) : Picture();
  }
  return sheet;
}

// Of a page without dark text.
std::vector<Box> darken_pale_page(Sheet& sheet, Letters& letters) {
  constexpr int kFaintEighths = 7;  // of the brightness of the paper
  const Picture faint = owned(pixThresholdToBinary(sheet.gray.get(), sheet.paper * kFaintEighths / 8));
  const Letters found = faint ? letters_of(faint.get()) : Letters{};
  if (found.count <= kBlankComponents || found.height > kLetterMax) return {};
  std::vector<Box> pale = darken_pale_text(sheet.gray, sheet.paper, found.height);
  if (pale.empty()) return pale;
  sheet.binary = binary_of(sheet.gray.get(), sheet.paper);
  letters = sheet.binary ? letters_of(sheet.binary.get()) : Letters{};
  return pale;
}

// Makes the paper white and the ink black, and removes everything but text. Records what it finds.
void clear_up(const Picture& gray, int paper, Prepared& result) {
  whiten(gray, paper);
  empty_filled_bands(gray, kLetterTarget);
  find_marks_and_letters(gray, result);
  if (result.noise) return;
  result.combs = take_combs(gray, kLetterTarget);
  for (const Comb& each : result.combs) result.erased.push_back(unscaled(each.box, result.scale));
  const TakenShapes shapes = take_shapes(gray, kLetterTarget);
  for (const CheckBox& each : shapes.boxes)
    result.check_boxes.push_back({unscaled(each.box, result.scale), each.ticked});
  for (const Box& each : shapes.with_signs) result.with_signs.push_back(unscaled(each, result.scale));
  for (const Leader& each : shapes.leaders)
    result.leaders.push_back({unscaled(each.box, result.scale), each.dots, each.bullets});
  for (const Box& each : shapes.erased) result.erased.push_back(unscaled(each, result.scale));
  TakenTables taken = take_tables(gray, kLetterTarget);
  result.tables = std::move(taken.tables);
  result.rules = std::move(taken.rules);
  if (!result.tables.empty() || !result.check_boxes.empty() || !result.with_signs.empty() ||
      !result.leaders.empty() || !result.combs.empty())
    find_marks_and_letters(gray, result);  // of what remains
}

double scale_for(float letter_px) {
  if (letter_px > kLargerThan * kLetterTarget) return kLetterTarget / letter_px;
  if (letter_px < kSmallerThan * kLetterTarget)
    return std::min(kEnlargeMax, double{kLetterTarget} / letter_px);
  return 1;
}

}  // namespace

void PixRelease::operator()(Pix* pix) const { pixDestroy(&pix); }

int width(const Picture& picture) { return pixGetWidth(picture.get()); }
int height(const Picture& picture) { return pixGetHeight(picture.get()); }
int pixel_at(float place) {
  constexpr float kFar = 1e6F;
  return std::isnan(place) ? 0 : static_cast<int>(std::clamp(place, -kFar, kFar));
}

std::vector<Box> pieces_of(Pix* binary) {
  std::vector<Box> pieces;
  const std::unique_ptr<Boxa, BoxaRelease> boxes(pixConnCompBB(binary, 8));
  for (int i = 0; boxes && i < boxaGetCount(boxes.get()); ++i) {
    int x = 0, y = 0, w = 0, h = 0;
    boxaGetBoxGeometry(boxes.get(), i, &x, &y, &w, &h);
    const auto at = [](int pixel) { return static_cast<float>(pixel); };
    pieces.push_back({at(x), at(y), at(x + w), at(y + h)});
  }
  return pieces;
}

Picture clipped(Pix* picture, const Box& box) {
  const int x = pixel_at(box.x0), y = pixel_at(box.y0);
  ::Box* place = boxCreate(x, y, pixel_at(box.x1) - x, pixel_at(box.y1) - y);
  Picture part = owned(place == nullptr ? nullptr : pixClipRectangle(picture, place, nullptr));
  boxDestroy(&place);
  return part;
}

namespace {

void fill(const Picture& gray, const Box& box, int operation) {
  pixRasterop(gray.get(), pixel_at(box.x0), pixel_at(box.y0), pixel_at(box.x1) - pixel_at(box.x0),
              pixel_at(box.y1) - pixel_at(box.y0), operation, nullptr, 0, 0);
}

}  // namespace

void fill_white(const Picture& gray, const Box& box) { fill(gray, box, PIX_SET); }
void fill_black(const Picture& gray, const Box& box) { fill(gray, box, PIX_CLR); }

int resolution(const Picture& picture) { return pixGetXRes(picture.get()); }

std::optional<NetpbmHead> netpbm_head(std::string_view data) {
  const std::string start(data.substr(0, 64));
  NetpbmHead head;
  char kind = 0;
  int white = 0;
  int used = 0;
  if (std::sscanf(start.c_str(), "P%c %d %d %d%n", &kind, &head.width, &head.height, &white, &used) != 4) {
    return std::nullopt;
  }
  if ((kind != '5' && kind != '6') || white != 255 || head.width <= 0 || head.height <= 0)
    return std::nullopt;
  if (static_cast<std::size_t>(used) >= start.size())
    return std::nullopt;  // the single white-space byte has not arrived yet
  head.channels = kind == '6' ? 3 : 1;
  head.head_bytes = static_cast<std::size_t>(used) + 1;
  return head;
}

Picture picture_of(const NetpbmHead& head, std::string_view pixels) {
  Picture picture = owned(pixCreateNoInit(head.width, head.height, head.channels == 1 ? 8 : 32));
  if (!picture) return picture;
  const auto row_bytes = static_cast<std::size_t>(head.width) * static_cast<std::size_t>(head.channels);
  const int words_per_line = pixGetWpl(picture.get());
  for (int y = 0; y < head.height; ++y) {
    l_uint32* line = pixGetData(picture.get()) + static_cast<std::ptrdiff_t>(y) * words_per_line;
    const char* row = pixels.data() + static_cast<std::size_t>(y) * row_bytes;
    if (head.channels == 1) {
      line[words_per_line - 1] = 0;
      std::memcpy(line, row, row_bytes);
      continue;
    }
    for (int x = 0; x < head.width; ++x) {
      const auto at = [&](int i) { return static_cast<int>(static_cast<unsigned char>(row[3 * x + i])); };
      composeRGBPixel(at(0), at(1), at(2), line + x);
    }
  }
  if (head.channels == 1) pixEndianByteSwap(picture.get());
  return picture;
}

Picture flattened(Picture picture) {
  l_int32 opaque = 1;
  if (PIXCMAP* colours = pixGetColormap(picture.get())) pixcmapIsOpaque(colours, &opaque);
  if (opaque == 0) picture = owned(pixRemoveColormap(picture.get(), REMOVE_CMAP_WITH_ALPHA));
  if (!picture || pixGetDepth(picture.get()) != 32 || pixGetSpp(picture.get()) != 4) return picture;
  constexpr l_uint32 kWhite = 0xFFFFFF00;
  return owned(pixAlphaBlendUniform(picture.get(), bright_ink(picture.get()) ? 0 : kWhite));
}

Picture to_gray(const Picture& picture) {
  Picture flat = owned(pixRemoveAlpha(picture.get()));
  return flat ? owned(pixConvertTo8(flat.get(), 0)) : Picture();
}

Picture turned(const Picture& picture, int quarter_turns) {
  return owned(quarter_turns == 0 ? pixClone(picture.get()) : pixRotateOrth(picture.get(), quarter_turns));
}

Prepared prepare(const Picture& given, std::optional<int> quarter_turns) {
  Prepared result;
  result.width = width(given);
  result.height = height(given);
  result.blank = std::min(result.width, result.height) < kLetterMin;
  if (result.blank) return result;
  Picture gray = owned(pixClone(given.get()));
  while (gray && std::max(width(gray), height(gray)) > kSideMax) {
    gray = owned(pixScaleAreaMap2(gray.get()));
    result.scale /= 2;
  }
  Sheet sheet = sheet_of(std::move(gray));
  Letters letters = sheet.binary ? letters_of(sheet.binary.get()) : Letters{};
  while (sheet.gray && letters.height > kLetterMax) {
    sheet = sheet_of(owned(pixScaleAreaMap2(sheet.gray.get())));
    result.scale /= 2;
    letters = sheet.binary ? letters_of(sheet.binary.get()) : Letters{};
  }
  std::vector<Box> pale;
  if (sheet.binary && letters.count <= kBlankComponents) pale = darken_pale_page(sheet, letters);
  gray = std::move(sheet.gray);
  Picture binary = std::move(sheet.binary);
  result.letter_px = letters.height;
  result.letters = letters.count;
  result.blank = gray && letters.count <= kBlankComponents;
  if (result.blank || !binary) return result;
  result.quarter_turns = quarter_turns ? *quarter_turns : quarter_turns_of(binary.get());
  gray = turned(gray, result.quarter_turns);
  binary = turned(binary, result.quarter_turns);
  if (result.quarter_turns != 0) pale.clear();  // its boxes are in pixels of the page as it was given
  result.pale = pale.empty() ? darken_pale_text(gray, sheet.paper, letters.height) : std::move(pale);
  result.upright = owned(gray ? pixClone(gray.get()) : nullptr);
  result.upright_scale = result.scale;
  result.paper = sheet.paper;
  if (result.quarter_turns % 2 != 0) std::swap(result.width, result.height);
  const double scale = scale_for(letters.height);
  if (gray && scale != 1) {
    gray = owned(pixScaleGeneral(gray.get(), static_cast<float>(scale), static_cast<float>(scale), 0, 0));
    result.scale *= scale;
  }
  if (gray && binary) result.angle = angle_of(binary.get());
  if (result.angle != 0) gray = rotated(std::move(gray), result.angle);
  if (gray.get() == result.upright.get()) gray = owned(pixCopy(nullptr, gray.get()));  // it is modified below
  if (gray) clear_up(gray, sheet.paper, result);
  result.gray = std::move(gray);
  return result;
}

std::string small_jpeg(const Picture& picture, int side) {
  const Picture flat = owned(pixRemoveAlpha(picture.get()));
  Picture small = owned(flat ? pixConvertTo8Or32(flat.get(), L_CLONE, 0) : nullptr);
  const int longer = small ? std::max(width(small), height(small)) : 0;
  if (longer > side) {
    const float scale = static_cast<float>(side) / static_cast<float>(longer);
    small = owned(pixScale(small.get(), scale, scale));
  }
  return small ? jpeg_of(small.get(), kSmallQuality) : std::string();
}

std::string jpeg_data_uri(const Picture& picture, int x0, int y0, int x1, int y1) {
  ::Box* box = boxCreate(x0, y0, x1 - x0, y1 - y0);
  const Picture piece = owned(box == nullptr ? nullptr : pixClipRectangle(picture.get(), box, nullptr));
  boxDestroy(&box);
  const std::string jpeg = piece ? jpeg_of(piece.get(), kPieceQuality) : std::string();
  return jpeg.empty() ? jpeg : "data:image/jpeg;base64," + base::base64_encode(jpeg);
}

}  // namespace millrace::engines::host
