#include "ai/providers/gemini_image_model.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "ai/providers/gemini_model.h"

namespace millrace::providers {
namespace {

constexpr int kImageSideMax = 16'384;
constexpr int kKilo = 1'024;  // pixels of a side of what is called 1K

struct Shape {
  std::string_view name;
  double ratio;
};
constexpr std::array kGeminiShapes{
    Shape{"1:1", 1.0},       Shape{"2:3", 2.0 / 3},   Shape{"3:2", 3.0 / 2}, Shape{"3:4", 3.0 / 4},
    Shape{"4:3", 4.0 / 3},   Shape{"4:5", 4.0 / 5},   Shape{"5:4", 5.0 / 4}, Shape{"9:16", 9.0 / 16},
    Shape{"16:9", 16.0 / 9}, Shape{"21:9", 21.0 / 9},
};
constexpr std::array kImagenShapes{
    Shape{"1:1", 1.0},       Shape{"3:4", 3.0 / 4},   Shape{"4:3", 4.0 / 3},
    Shape{"9:16", 9.0 / 16}, Shape{"16:9", 16.0 / 9},
};

struct Pixels {
  int width = 0, height = 0;
};

std::optional<Pixels> pixels_of(std::string_view text) {
  Pixels size;
  const char* const end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, size.width);
  if (width.ec != std::errc{} || width.ptr == end || *width.ptr != 'x') return std::nullopt;
  const auto height = std::from_chars(width.ptr + 1, end, size.height);
  const auto good = [](int side) { return side > 0 && side <= kImageSideMax; };
  if (height.ec != std::errc{} || height.ptr != end || !good(size.width) || !good(size.height))
    return std::nullopt;
  return size;
}

std::string_view nearest_shape(std::span<const Shape> shapes, double ratio) {
  std::string_view best;
  double least = std::numeric_limits<double>::max();
  for (const Shape& shape : shapes) {
    const double off = std::abs(std::log(shape.ratio / ratio));
    if (off < least) best = shape.name;
    least = std::min(off, least);
  }
  return best;
}

// 1, 2 or 4: the size whose area is the nearest, each having four times the one before.
int thousands_of(const Pixels& size) {
  const double area = static_cast<double>(size.width) * size.height / (1.0 * kKilo * kKilo);
  if (area < 2) return 1;
  return area < 8 ? 2 : 4;
}

std::string_view size_word(int thousands) {
  if (thousands == 1) return "1K";
  return thousands == 2 ? "2K" : "4K";
}

}  // namespace

GeminiImageModel gemini_image_model(std::string_view name) {
  GeminiImageModel model;
  model.is_imagen = name.find("imagen-") != std::string_view::npos;
  if (model.is_imagen) {
    const bool is_fast = name.find("-fast") != std::string_view::npos;
    model.size_max = name.find("imagen-4") != std::string_view::npos && !is_fast ? 2 : 1;
    return model;
  }
  const GeminiModel version = gemini_model(name);
  const bool is_early = version.major == 2 && version.minor < 5;
  model.has_shapes = !is_early;
  model.also_writes = is_early;
  model.size_max = version.major >= 3 ? 4 : 1;
  return model;
}

std::optional<GeminiImageSize> gemini_image_size(const GeminiImageModel& model, std::string_view size) {
  const auto wanted = pixels_of(size);
  if (!wanted || !model.has_shapes) return std::nullopt;
  const std::span<const Shape> shapes =
      model.is_imagen ? std::span<const Shape>(kImagenShapes) : std::span<const Shape>(kGeminiShapes);
  const int thousands = std::min(thousands_of(*wanted), model.size_max);
  GeminiImageSize told;
  told.aspect_ratio = nearest_shape(shapes, 1.0 * wanted->width / wanted->height);
  if (model.size_max > 1) told.image_size = size_word(thousands);
  told.is_exact = wanted->width == wanted->height && wanted->width == thousands * kKilo;
  return told;
}

}  // namespace millrace::providers
