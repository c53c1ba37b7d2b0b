#include <string>

#include "ai/providers/provider.h"
#include "schemas/chat/chat_quick.h"
#include "schemas/chat/chat_request.h"
#include "schemas/chat/chat_tokens.h"
#include "tests/fuzz/provider.h"
#include "tests/fuzz/request.h"

// Chat requests, and their translation for each family. The input is the body.
namespace millrace::schemas {
namespace {

using fuzz::require;

void check_same(const ChatRequest& tree, ChatRequest quick) {
  require(tree.body == body_of(quick.quick), "both parsers read the same parameters");
  require(tree.models == quick.models && tree.stream == quick.stream &&
              tree.include_usage == quick.include_usage &&
              tree.include_obfuscation == quick.include_obfuscation && tree.dropped == quick.dropped &&
              tree.unknown == quick.unknown,
          "both parsers read the same request");
  form_body(quick);
  require(chat_spec(tree) == chat_spec(quick), "both parsers store the same request");
}

void check_translations(const ChatRequest& request) {
  for (const char* provider : {"openai", "xai", "mistral", "groq", "ollama", "anthropic", "gemini"}) {
    const providers::Target target = providers::fuzzing::target_of(provider);
    for (const bool stream : {false, true}) {
      const auto wire = providers::translation(target.preset->family).chat_request(target, request, stream);
      if (!wire) {
        require(!wire.error().message.empty(), "a refusal says why");
        continue;
      }
      providers::fuzzing::require_json(wire->body, "a request for a provider is JSON");
    }
  }
}

void check_chat(std::string_view sent) {
  fuzzing::check_json(sent);
  std::string body = fuzzing::padded(sent), for_quick = fuzzing::padded(sent);
  auto quick = quick_chat_request(for_quick);
  const auto tree = parse_chat_request(body);
  require(quick || for_quick == sent, "a body that the quick parser leaves is unchanged");
  require(!quick || tree, "the quick parser accepts no more than the other");
  if (!tree) return fuzzing::check_refusal(tree.error());
  if (quick) {
    check_translations(*quick);
    check_same(*tree, *std::move(quick));
  }
  const auto stored = chat_request_from_spec(chat_spec(*tree));
  require(stored && chat_spec(*stored) == chat_spec(*tree), "a stored request is read again");
  check_translations(*tree);
}

}  // namespace
}  // namespace millrace::schemas

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::schemas::check_chat(millrace::fuzz::text_of(data, size));
  return 0;
}
