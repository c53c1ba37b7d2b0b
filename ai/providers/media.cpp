#include "ai/providers/media.h"

#include <stdexcept>

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
  const bool has = target.preset->family == Family::kOpenai || target.preset->family == Family::kMock;
  if (!has || target.preset->dialect == Dialect::kGroq) return has_no(target, "images");
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

}  // namespace millrace::providers
