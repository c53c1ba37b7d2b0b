#include "ai/providers/anthropic/reply.h"
#include "ai/providers/anthropic/request.h"
#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"
#include "ai/providers/upstream_error.h"

namespace millrace::providers {
namespace {

class AnthropicTranslation final : public Translation {
 public:
  base::Result<WireRequest> chat_request(const Target& target, const schemas::ChatRequest& request,
                                         bool stream) const override {
    return anthropic_request(target, request, stream);
  }
  base::Result<schemas::ChatReply> chat_reply(const Target& target, std::string_view body) const override {
    return anthropic_reply(target, body);
  }
  std::unique_ptr<StreamReader> stream_reader(const Target& target) const override {
    return anthropic_stream(target);
  }
  std::pair<std::string, std::string> credential(const base::Secret& key) const override {
    return {"x-api-key", key.reveal()};
  }
  std::string error_message(std::string_view body) const override {
    const std::optional<Json> node = parse_wire(body);
    const Json* error = node ? member(*node, "error") : nullptr;
    return error != nullptr ? upstream_text(text_of(*error, "message")) : std::string();
  }
};

}  // namespace

const Translation& anthropic_translation() {
  static const AnthropicTranslation translation;
  return translation;
}

}  // namespace millrace::providers
