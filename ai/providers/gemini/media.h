#pragma once
#include <optional>
#include <string_view>

#include "ai/providers/media.h"

namespace millrace::providers {

inline constexpr std::size_t kGeminiBatchMax = 100;  // inputs of one batchEmbedContents

WireRequest gemini_embedding_request(const Target& target, const EmbeddingPart& part);
base::Result<schemas::EmbeddingReply> gemini_embedding_reply(const Target& target, std::string_view body,
                                                             std::size_t inputs);

// What a model of Gemini's API that draws takes, by its name.
struct GeminiImageModel {
  bool is_imagen = false;    // asked by :predict; the others by :generateContent
  bool has_shapes = true;    // takes an aspect ratio
  bool also_writes = false;  // must be allowed to write beside what it draws
  int size_max = 1;          // the largest of its sizes, 1K, 2K or 4K; 1: it is not told any
};
GeminiImageModel gemini_image_model(std::string_view name);

inline constexpr int kImagenSamplesMax = 4;  // images of one :predict

// A wished size as such a model is told it.
struct GeminiImageSize {
  std::string_view aspect_ratio;  // of those that it draws the nearest
  std::string_view image_size;    // "1K", "2K", "4K"; empty: it is not told any
  bool is_exact = false;          // the image has that many pixels
};
// `size`: "1536x1024". nullopt: it is none, or the model takes none.
std::optional<GeminiImageSize> gemini_image_size(const GeminiImageModel& model, std::string_view size);

// Images of Gemini's API: by :generateContent one in a call, by Imagen's :predict up to four.
int gemini_image_calls(const Target& target, const schemas::ImageRequest& request);
// `call`: which of them, from 0.
WireRequest gemini_image_request(const Target& target, const schemas::ImageRequest& request, int call);
// kBadRequest: the provider's filters refused the prompt, or every image.
base::Result<schemas::ImageReply> gemini_image_reply(const Target& target, std::string_view body);

}  // namespace millrace::providers
