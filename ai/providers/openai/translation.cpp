#include <stdexcept>

#include "ai/providers/openai/reply.h"
#include "ai/providers/openai/request.h"
#include "ai/providers/openai/stream.h"
#include "ai/providers/provider.h"

namespace millrace::providers {
namespace {

// POST …/chat/completions, as published by OpenAI and implemented by others.
class OpenaiTranslation final : public Translation {
 public:
  base::Result<WireRequest> chat_request(const Target& target, const schemas::ChatRequest& request,
                                         bool stream) const override {
    return openai_request(target, request, stream);
  }
  base::Result<schemas::ChatReply> chat_reply(const Target& target, std::string_view body) const override {
    return openai_reply(target, body);
  }
  std::unique_ptr<StreamReader> stream_reader(const Target& target) const override {
    return std::make_unique<OpenaiStream>(target);
  }
  std::pair<std::string, std::string> credential(const base::Secret& key) const override {
    return {"Authorization", "Bearer " + key.reveal()};
  }
  std::string error_message(std::string_view body) const override { return openai_error_message(body); }
};

}  // namespace

const Translation& openai_translation() {
  static const OpenaiTranslation translation;
  return translation;
}

const Translation& translation(Family family) {
  switch (family) {
    case Family::kOpenai:
      return openai_translation();
    case Family::kAnthropic:
      return anthropic_translation();
    case Family::kGemini:
      return gemini_translation();
    case Family::kMock:
      break;
  }
  throw std::logic_error("the mock provider has no translation");
}

}  // namespace millrace::providers
