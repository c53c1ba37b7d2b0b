#include "ai/providers/anthropic_continuity.h"

#include "schemas/json_body.h"

namespace millrace::providers {

void AnthropicContinuity::thinking(std::string_view text, std::string_view signature) {
  if (signature.empty()) return;
  blocks_.push_back({{"type", "thinking"}, {"thinking", text}, {"signature", signature}});
  thinks_ = true;
}

void AnthropicContinuity::redacted(std::string_view data) {
  blocks_.push_back({{"type", "redacted_thinking"}, {"data", data}});
  thinks_ = true;
}

void AnthropicContinuity::text() {
  if (blocks_.empty() || blocks_.back()["type"] != "text") blocks_.push_back({{"type", "text"}});
}

void AnthropicContinuity::call(std::string_view id) { blocks_.push_back({{"type", "tool_use"}, {"id", id}}); }

std::string AnthropicContinuity::take() {
  if (!thinks_) return {};
  thinks_ = false;
  return schemas::dump({{"provider", "anthropic"}, {"blocks", std::exchange(blocks_, Json::array())}});
}

Json AnthropicContinuity::blocks(std::string_view continuity) {
  const std::optional<Json> kept = continuity.empty() ? std::nullopt : parse_wire(continuity);
  if (!kept || text_of(*kept, "provider") != "anthropic") return Json::array();
  const Json* blocks = member(*kept, "blocks");
  return blocks != nullptr && blocks->is_array() ? *blocks : Json::array();
}

}  // namespace millrace::providers
