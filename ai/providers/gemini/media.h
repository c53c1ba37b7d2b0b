#pragma once
#include <optional>
#include <string_view>

#include "ai/providers/media.h"

namespace millrace::providers {

inline constexpr std::size_t kGeminiBatchMax = 100;  // inputs of one batchEmbedContents

WireRequest gemini_embedding_request(const Target& target, const EmbeddingPart& part);
base::Result<schemas::EmbeddingReply> gemini_embedding_reply(const Target& target, std::string_view body,
                                                             std::size_t inputs);

// The abilities of an image model of Gemini's API, derived from its name.
struct GeminiImageModel {
  bool is_imagen = false;    // called with :predict; others with :generateContent
  bool has_shapes = true;    // accepts an aspect ratio
  bool also_writes = false;  // the request must also allow text output
  int size_max = 1;          // its largest size: 1K, 2K or 4K; 1: no size is sent
};
GeminiImageModel gemini_image_model(std::string_view name);

inline constexpr int kImagenSamplesMax = 4;  // images of one :predict

// A requested size in the form that such a model accepts.
struct GeminiImageSize {
  std::string_view aspect_ratio;  // the nearest one that it supports
  std::string_view image_size;    // "1K", "2K", "4K"; empty: not sent
  bool is_exact = false;          // the image has exactly the requested size
};
// `size`: "1536x1024". nullopt: it is not a size, or the model accepts no size.
std::optional<GeminiImageSize> gemini_image_size(const GeminiImageModel& model, std::string_view size);

// The number of calls: :generateContent returns one image per call, Imagen's :predict up to four.
int gemini_image_calls(const Target& target, const schemas::ImageRequest& request);
// `call`: index of the call, from 0.
WireRequest gemini_image_request(const Target& target, const schemas::ImageRequest& request, int call);
// kBadRequest: the provider's filters refused the prompt, or every image.
base::Result<schemas::ImageReply> gemini_image_reply(const Target& target, std::string_view body);

}  // namespace millrace::providers
