#pragma once
#include <cstdint>
#include <string>

#include "ai/providers/media.h"

namespace millrace::providers {

inline constexpr int kMockDimensions = 256, kMockDimensionsMax = 4096;

// Embeddings without a provider, for users without a key. The same input gives the same vector, different
// inputs give different ones. Vectors have length 1 and `dimensions` numbers, by default kMockDimensions.
// Token counts are estimated.
schemas::EmbeddingReply mock_embedding(const Target& target, const EmbeddingPart& part);

// Images without a provider: PNGs of the requested size (default 256x256). The prompt determines them; the
// same request gives the same images. Each image counts as one output token.
schemas::ImageReply mock_images(const schemas::ImageRequest& request);
// As a stream: `partial_images` partial images, then the final ones.
std::vector<schemas::ImageEvent> mock_image_events(const schemas::ImageRequest& request);

// A PNG with two colours and a pattern of blocks, determined by `seed`. The same seed and size give the same
// bytes. About width × height / 8 bytes.
std::string mock_png(int width, int height, std::uint64_t seed);

}  // namespace millrace::providers
