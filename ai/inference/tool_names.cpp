#include "ai/inference/tool_names.h"

#include <cctype>

namespace millrace::inference {
namespace {

constexpr std::size_t kServerMax = 24;  // of a prefix where the whole would be too long

std::string cleaned(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    out += fits ? c : '_';
  }
  return out.empty() ? "_" : out;
}

}  // namespace

std::string ToolNames::name(std::string_view server, std::string_view tool) {
  std::string prefix = cleaned(server);
  const std::string own = cleaned(tool);
  if (prefix.size() + 2 + own.size() > kNameMax && prefix.size() > kServerMax) prefix.resize(kServerMax);
  std::string whole = prefix + "__" + own;
  whole.resize(std::min(whole.size(), kNameMax));
  std::string name = whole;
  for (int number = 2; !taken_.insert(name).second; ++number) {
    const std::string suffix = "_" + std::to_string(number);
    name = whole.substr(0, kNameMax - suffix.size()) + suffix;
  }
  return name;
}

}  // namespace millrace::inference
