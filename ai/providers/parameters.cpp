#include "ai/providers/parameters.h"

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
  const bool is_supported = n == Support::kNative || n == Support::kClamped;
  if (request.n > 1 && !is_supported) note("n", DroppedParam::How::kEmulated);
}

const Json* Parameters::take(std::string_view name) {
  const auto found = open_.find(name);
  if (found == open_.end()) return nullptr;
  open_.erase(found);
  return member(body_, name);
}

const Json* Parameters::untaken(std::string_view name) const {
  return open_.contains(name) ? member(body_, name) : nullptr;
}

void Parameters::note(std::string_view name, DroppedParam::How how) {
  const auto known = noted_.find(name);
  if (known == noted_.end()) {
    noted_.emplace(name, report_.size());
    report_.push_back({std::string(name), how});
  } else if (how == DroppedParam::How::kDropped) {
    report_[known->second].how = how;
  }
}

schemas::DroppedParams Parameters::finish() {
  for (const std::string& name : open_) dropped(name);
  open_.clear();
  noted_.clear();
  return std::exchange(report_, {});
}

void ThinkingRequest::drop(Parameters& report) const {
  if (by_thinking) report.dropped("thinking");
  if (!effort.empty()) report.dropped("reasoning_effort");
}

ThinkingRequest take_thinking(Parameters& parameters) {
  ThinkingRequest setting;
  const Json* thinking = parameters.take("thinking");
  const Json* effort = parameters.take("reasoning_effort");
  setting.effort = text_of(effort);
  if (thinking != nullptr) {
    const std::string_view type = text_of(*thinking, "type");
    setting.by_thinking = true;
    setting.kind = type == "disabled" ? ThinkingRequest::Kind::kOff : ThinkingRequest::Kind::kOn;
    setting.adaptive = type == "adaptive";
    setting.budget = integer_of(*thinking, "budget_tokens");
  } else if (effort != nullptr) {
    setting.kind = setting.effort == "none" ? ThinkingRequest::Kind::kOff : ThinkingRequest::Kind::kOn;
  }
  return setting;
}

std::optional<std::int64_t> budget_of_effort(std::string_view effort) {
  if (effort == "minimal" || effort == "low") return 1'024;
  if (effort == "medium") return 8'192;
  if (effort == "high" || effort == "xhigh" || effort == "max") return 24'576;
  return std::nullopt;
}

std::string_view effort_of_budget(std::int64_t budget) {
  if (budget <= 4'096) return "low";
  return budget <= 16'384 ? "medium" : "high";
}

}  // namespace millrace::providers
