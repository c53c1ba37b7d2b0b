#pragma once
#include <string>
#include <string_view>

#include "ai/providers/provider.h"
#include "tests/fuzz/fuzz.h"

// Shared by the targets that read what providers send.
namespace millrace::providers::fuzzing {

// The target of a provider by its name, for example "gemini". Null preset: there is none.
inline Target target_of(std::string_view provider) {
  Target target;
  target.name = "provider/model";
  target.preset = preset_named(provider);
  target.model = "model";
  target.key = base::Secret("sk-test-0123456789abcdef");
  return target;
}
inline bool can_translate(const Target& target) {
  return target.preset != nullptr && target.preset->family != Family::kMock;
}

inline void require_json(std::string_view text, const char* rule) {
  fuzz::require(schemas::Json::accept(text), rule);
}

}  // namespace millrace::providers::fuzzing
