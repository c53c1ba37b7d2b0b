#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ai/providers/families.h"
#include "ai/providers/json_access.h"
#include "schemas/chat/chat_request.h"
#include "schemas/dropped.h"

namespace millrace::providers {

// A request's parameters on their way into another form: each is taken by who tells it, and what nobody takes
// is reported, so that none is lost in silence.
class Parameters {
 public:
  // `request` outlives it. What the table (families.h) drops or emulates is reported at once.
  Parameters(Dialect dialect, const schemas::ChatRequest& request);

  // Null: not given, or the table drops it.
  const Json* take(std::string_view name);

  void dropped(std::string_view name) { note(name, schemas::DroppedParam::How::kDropped); }
  void clamped(std::string_view name) { note(name, schemas::DroppedParam::How::kClamped); }
  // Each name once, by what is worst of it.
  schemas::DroppedParams finish();

 private:
  void note(std::string_view name, schemas::DroppedParam::How how);

  const Json& body_;
  std::set<std::string, std::less<>> open_;
  schemas::DroppedParams report_;
};

// How much a client wants the model to think: `thinking` and `reasoning_effort`, read together.
struct ThinkingRequest {
  enum class Kind : std::uint8_t { kUnset, kOff, kOn };
  Kind kind = Kind::kUnset;
  bool adaptive = false;
  bool by_thinking = false;            // `thinking` was given
  std::optional<std::int64_t> budget;  // tokens
  std::string_view effort;             // empty: not given

  void drop(Parameters& report) const;  // what was given of the two
};
ThinkingRequest take_thinking(Parameters& parameters);

// Tokens that an effort stands for where a provider counts them; nullopt: no such effort.
std::optional<std::int64_t> budget_of_effort(std::string_view effort);
std::string_view effort_of_budget(std::int64_t budget);  // low, medium or high

}  // namespace millrace::providers
