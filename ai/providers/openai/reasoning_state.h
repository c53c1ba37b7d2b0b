#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"

namespace millrace::providers {

inline constexpr std::size_t kReasoningStateMax = 1u << 20;  // bytes; a larger state is not kept

// What a provider of this family expects back with its tool calls (ChatChoice::reasoning_state): its
// reasoning under its own names, and the unknown members of its calls.
class OpenaiReasoningState {
 public:
  // Collects a reply or its deltas. `name`: "reasoning_content", "reasoning", or kThinking.
  void add_text(std::string_view name, std::string_view text);
  void add_details(const Json& details);  // reasoning_details, a list
  void add_call(const std::string& id, const Json& extra);
  // Empty: there were no calls, nothing to keep or too much.
  std::string take(const Target& target);

  // Takes the state out of an earlier message. nullopt: none, or of another model or server.
  static std::optional<Json> read(const Target& target, Json& message);
  // Compares `state` with what the client sent. If it is the same, erases it from `message`; if the client
  // sent something else, erases it from `state`, because the client's own reasoning counts.
  static void settle(Json& state, Json& message);
  // Puts what `state` has where the provider had it.
  static void restore(Json& state, Json& message);

  static constexpr std::string_view kThinking = "thinking";  // text of Mistral's thinking parts

 private:
  void count(std::size_t bytes);

  std::size_t bytes_ = 0;
  bool has_calls_ = false;
  Json message_ = Json::object(), calls_ = Json::object();
};

// Puts a thinking part of Mistral before the content of a message that has none.
void add_thinking_part(Json& message, std::string_view text);

}  // namespace millrace::providers
