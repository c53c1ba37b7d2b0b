#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ai/providers/families.h"
#include "ai/providers/json_access.h"
#include "schemas/chat/chat_request.h"
#include "schemas/dropped.h"

namespace millrace::providers {

// The parameters of a request that is translated into another format. The translation takes each parameter
// that it sends. Parameters that are not taken are reported as dropped.
class Parameters {
 public:
  // `request` outlives it. Parameters that the table (families.h) drops or emulates are reported at once.
  Parameters(Dialect dialect, const schemas::ChatRequest& request);

  // Null: not given, or the table drops it.
  const Json* take(std::string_view name);
  const Json* untaken(std::string_view name) const;  // the same, without taking it

  void dropped(std::string_view name) { note(name, schemas::DroppedParam::How::kDropped); }
  void clamped(std::string_view name) { note(name, schemas::DroppedParam::How::kClamped); }
  // Lists each name once, with its worst outcome.
  schemas::DroppedParams finish();

 private:
  void note(std::string_view name, schemas::DroppedParam::How how);

  const Json& body_;
  std::set<std::string, std::less<>> open_;
  schemas::DroppedParams report_;
  std::map<std::string, std::size_t, std::less<>> noted_;  // places in `report_`, by name
};

// The requested amount of thinking, from `thinking` and `reasoning_effort`.
struct ThinkingRequest {
  enum class Kind : std::uint8_t { kUnset, kOff, kOn };
  Kind kind = Kind::kUnset;
  bool adaptive = false;
  bool by_thinking = false;            // `thinking` was given
  std::optional<std::int64_t> budget;  // tokens
  std::string_view effort;             // empty: not given

  void drop(Parameters& report) const;  // reports those of the two that were given
};
ThinkingRequest take_thinking(Parameters& parameters);

// The token budget for an effort, for providers that take a budget; nullopt: unknown effort.
std::optional<std::int64_t> budget_of_effort(std::string_view effort);
std::string_view effort_of_budget(std::int64_t budget);  // low, medium or high

}  // namespace millrace::providers
