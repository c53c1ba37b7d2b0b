#include "ai/providers/parameters.h"

#include <algorithm>
#include <utility>

namespace millrace::providers {

using schemas::DroppedParam;

Parameters::Parameters(Dialect dialect, const schemas::ChatRequest& request) : body_(request.body) {
  if (!body_.is_object()) return;
  for (const auto& [name, value] : body_.items()) {
    if (name == "n") continue;
    switch (support(dialect, name).value_or(Support::kDropped)) {
      case Support::kNative:
      case Support::kClamped:
        open_.insert(name);
        break;
      case Support::kEmulated:
        note(name, DroppedParam::How::kEmulated);
        break;
      case Support::kDropped:
        dropped(name);
        break;
    }
  }
  const Support n = support(dialect, "n").value_or(Support::kEmulated);
  const bool told = n == Support::kNative || n == Support::kClamped;
  if (request.n > 1 && !told) note("n", DroppedParam::How::kEmulated);
}

const Json* Parameters::take(std::string_view name) {
  const auto found = open_.find(name);
  if (found == open_.end()) return nullptr;
  open_.erase(found);
  return member(body_, name);
}

void Parameters::note(std::string_view name, DroppedParam::How how) {
  const auto same = [&](const DroppedParam& one) { return one.name == name; };
  const auto known = std::find_if(report_.begin(), report_.end(), same);
  if (known == report_.end()) {
    report_.push_back({std::string(name), how});
  } else if (how == DroppedParam::How::kDropped) {
    known->how = how;
  }
}

schemas::DroppedParams Parameters::finish() {
  for (const std::string& name : open_) dropped(name);
  open_.clear();
  return std::exchange(report_, {});
}

}  // namespace millrace::providers
