#include "ai/engines/parts_call.h"

namespace millrace::engines {

std::optional<EngineEnd> PartsCall::stuck(Stuck why) {
  if (left_.empty()) return ended(EngineEnd::Kind::kDone);
  const int part = blamed();
  left_.erase(part);
  report_failed(part, stuck_error(part, why));
  if (left_.empty()) return ended(EngineEnd::Kind::kDone);
  return std::nullopt;
}

}  // namespace millrace::engines
