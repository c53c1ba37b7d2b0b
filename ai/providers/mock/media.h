#pragma once
#include <cstdint>
#include <string>

#include "ai/providers/media.h"

namespace millrace::providers {

inline constexpr int kMockDimensions = 256, kMockDimensionsMax = 4096;

// The product's own embeddings, for people without any key: the same input has the same vector, of length 1
// and of `dimensions` numbers, else of kMockDimensions; other inputs have others. Tokens are estimated ones.
schemas::EmbeddingReply mock_embedding(const Target& target, const EmbeddingPart& part);

// Its images: PNGs of the wanted size (256x256 where none is said), told by the prompt: the same request has
// the same ones. Tokens of the output are images.
schemas::ImageReply mock_images(const schemas::ImageRequest& request);
// As a stream: `partial_images` others, then the whole ones.
std::vector<schemas::ImageEvent> mock_image_events(const schemas::ImageRequest& request);

// A PNG of two colours and a pattern of blocks, all of them told by `seed`: the same seed and size give the
// same bytes. About width × height / 8 bytes.
std::string mock_png(int width, int height, std::uint64_t seed);

}  // namespace millrace::providers
