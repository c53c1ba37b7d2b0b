#include "ai/providers/media.h"

#include <stdexcept>

#include "ai/providers/gemini_images.h"
#include "ai/providers/gemini_media.h"
#include "ai/providers/openai_media.h"

namespace millrace::providers {
namespace {

base::Error has_no(const Target& target, std::string_view what) {
  return base::error(base::Code::kBadRequest,
                     "model '" + target.name + "': provider " + std::string(target.preset->name) +
                         " has no " + std::string(what),
                     "model");
}

}  // namespace

std::optional<base::Error> no_embeddings(const Target& target) {
  if (target.preset->family == Family::kAnthropic || target.preset->dialect == Dialect::kGroq)
    return has_no(target, "embeddings");
  return std::nullopt;
}

std::optional<base::Error> no_images(const Target& target) {
  if (target.preset->family == Family::kAnthropic || target.preset->dialect == Dialect::kGroq)
    return has_no(target, "images");
  return std::nullopt;
}

bool takes_tokens(const Target& target) {
  switch (target.preset->dialect) {
    case Dialect::kOpenai:
    case Dialect::kMock:
      return true;
    case Dialect::kLocal:
      return target.preset->name != "ollama";
    case Dialect::kAnthropic:
    case Dialect::kGemini:
    case Dialect::kXai:
    case Dialect::kMistral:
    case Dialect::kGroq:
      return false;
  }
  return false;
}

std::size_t embedding_batch_max(const Target& target) {
  return target.preset->family == Family::kGemini ? kGeminiBatchMax : schemas::kEmbeddingInputsMax;
}

base::Result<WireRequest> embedding_request(const Target& target, const EmbeddingPart& part) {
  switch (target.preset->family) {
    case Family::kOpenai:
      return openai_embedding_request(target, part);
    case Family::kGemini:
      return gemini_embedding_request(target, part);
    case Family::kAnthropic:
      return has_no(target, "embeddings");
    case Family::kMock:
      break;
  }
  throw std::logic_error("the mock provider has no wire");
}

base::Result<schemas::EmbeddingReply> embedding_reply(const Target& target, std::string_view body,
                                                      std::size_t inputs) {
  switch (target.preset->family) {
    case Family::kOpenai:
      return openai_embedding_reply(target, body, inputs);
    case Family::kGemini:
      return gemini_embedding_reply(target, body, inputs);
    case Family::kAnthropic:
      return has_no(target, "embeddings");
    case Family::kMock:
      break;
  }
  throw std::logic_error("the mock provider has no wire");
}

int image_calls(const Target& target, const schemas::ImageRequest& request) {
  switch (target.preset->family) {
    case Family::kOpenai:
      return openai_image_calls(target, request);
    case Family::kGemini:
      return gemini_image_calls(target, request);
    case Family::kAnthropic:
    case Family::kMock:
      break;
  }
  return 1;
}

WireRequest image_request(const Target& target, const schemas::ImageRequest& request, int call) {
  return target.preset->family == Family::kGemini ? gemini_image_request(target, request, call)
                                                  : openai_image_request(target, request);
}

base::Result<schemas::ImageReply> image_reply(const Target& target, std::string_view body) {
  return target.preset->family == Family::kGemini ? gemini_image_reply(target, body)
                                                  : openai_image_reply(target, body);
}

}  // namespace millrace::providers
