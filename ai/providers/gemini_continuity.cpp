#include "ai/providers/gemini_continuity.h"

#include <utility>

#include "schemas/json_body.h"

namespace millrace::providers {

void GeminiContinuity::call(std::string_view id, std::string_view signature) {
  if (!signature.empty()) signatures_["calls"][std::string(id)] = signature;
}

void GeminiContinuity::text(std::string_view signature) {
  if (!signature.empty()) signatures_["text"] = signature;
}

std::string GeminiContinuity::take() {
  if (signatures_.empty()) return {};
  Json kept = std::exchange(signatures_, Json::object());
  kept["provider"] = "gemini";
  return schemas::dump(kept);
}

GeminiContinuity GeminiContinuity::read(std::string_view continuity) {
  GeminiContinuity read;
  std::optional<Json> kept = continuity.empty() ? std::nullopt : parse_wire(continuity);
  if (kept && text_of(*kept, "provider") == "gemini") read.signatures_ = *std::move(kept);
  return read;
}

std::string_view GeminiContinuity::of_call(std::string_view id) const {
  return text_of(member(member(signatures_, "calls"), id));
}

std::string_view GeminiContinuity::of_text() const { return text_of(signatures_, "text"); }

}  // namespace millrace::providers
