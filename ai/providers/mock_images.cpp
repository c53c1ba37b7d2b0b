#include <charconv>

#include "ai/providers/mock_media.h"
#include "ai/providers/mock_png.h"
#include "platform/base/base64.h"
#include "platform/base/crypto.h"
#include "schemas/chat_reply.h"

namespace millrace::providers {
namespace {

constexpr int kSideDefault = 256, kSideMin = 1, kSideMax = 2048;

struct Size {
  int width = kSideDefault, height = kSideDefault;
};

// "512x256"; the default for "auto", for what is none, and for what is too large.
Size size_of(const std::string& text) {
  Size size;
  const char* const end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, size.width);
  if (width.ec != std::errc{} || width.ptr == end || *width.ptr != 'x') return {};
  const auto height = std::from_chars(width.ptr + 1, end, size.height);
  const auto good = [](int side) { return side >= kSideMin && side <= kSideMax; };
  if (height.ec != std::errc{} || height.ptr != end || !good(size.width) || !good(size.height)) return {};
  return size;
}

std::uint64_t seed_of(const std::string& prompt, int number) {
  const base::Sha256Digest digest = base::sha256(prompt + "\n" + std::to_string(number));
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < sizeof seed; ++i) seed = seed << 8U | digest[i];
  return seed;
}

std::string drawn(const schemas::ImageRequest& request, int number) {
  const Size size = size_of(request.word("size"));
  return base::base64_encode(mock_png(size.width, size.height, seed_of(request.prompt, number)));
}

schemas::ImageUsage usage_of(const schemas::ImageRequest& request, int images) {
  schemas::ImageUsage usage;
  usage.input = schemas::estimated_tokens(request.prompt);
  usage.output = images;
  usage.total = usage.input + usage.output;
  return usage;
}

}  // namespace

schemas::ImageReply mock_images(const schemas::ImageRequest& request) {
  schemas::ImageReply reply;
  for (int i = 0; i < request.n; ++i) {
    schemas::Image image;
    image.b64_json = drawn(request, i);
    reply.images.push_back(std::move(image));
  }
  reply.usage = usage_of(request, request.n);
  return reply;
}

std::vector<schemas::ImageEvent> mock_image_events(const schemas::ImageRequest& request) {
  std::vector<schemas::ImageEvent> events;
  for (int i = 0; i < request.partial_images; ++i) {
    schemas::ImageEvent& partial = events.emplace_back();
    partial.b64_json = drawn(request, -1 - i);
    partial.partial_index = i;
  }
  for (int i = 0; i < request.n; ++i) {
    schemas::ImageEvent& whole = events.emplace_back();
    whole.completed = true;
    whole.b64_json = drawn(request, i);
    if (i + 1 == request.n) whole.usage = usage_of(request, request.n);
  }
  return events;
}

}  // namespace millrace::providers
