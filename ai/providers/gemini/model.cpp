#include "ai/providers/gemini/model.h"

#include <charconv>

namespace millrace::providers {

GeminiModel gemini_model(std::string_view name) {
  constexpr std::string_view kFamily = "gemini-";
  GeminiModel model;
  model.is_pro = name.find("-pro") != std::string_view::npos;
  model.is_lite = name.find("-lite") != std::string_view::npos;
  const std::size_t begin = name.find(kFamily);
  if (begin == std::string_view::npos) return model;
  const std::string_view version = name.substr(begin + kFamily.size());
  const char* const end = version.data() + version.size();
  const auto major = std::from_chars(version.data(), end, model.major);
  if (major.ec == std::errc() && major.ptr != end && *major.ptr == '.') {
    std::from_chars(major.ptr + 1, end, model.minor);
  }
  return model;
}

GeminiModel::Thinking GeminiModel::thinking() const {
  if (major >= 3) return Thinking::kLevel;
  if (major == 0 || (major == 2 && minor >= 5)) return Thinking::kBudget;
  return Thinking::kNone;
}

std::int64_t GeminiModel::budget_min() const {
  if (is_lite) return 512;
  return is_pro ? 128 : 1;
}

std::int64_t GeminiModel::budget_max() const { return is_pro ? 32'768 : 24'576; }
bool GeminiModel::can_disable_thinking() const { return !is_pro; }

std::string_view GeminiModel::level(std::string_view requested) const {
  const bool is_new_flash = !is_pro && !is_lite && (major > 3 || minor >= 7);  // 3.7 and later
  if (requested == "minimal" && (is_pro || is_new_flash)) return "low";
  if (!is_pro) return requested;
  return requested == "medium" && minor == 0 ? "high" : requested;
}

bool GeminiModel::signs_calls() const { return major >= 3; }
bool GeminiModel::searches_with_tools() const { return major >= 3; }
bool GeminiModel::formats_with_tools() const { return major >= 3; }

}  // namespace millrace::providers
