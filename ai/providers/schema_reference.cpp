#include "ai/providers/schema_reference.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace millrace::providers {
namespace {

std::string unescaped(std::string_view segment) {
  std::string text;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] == '~' && i + 1 < segment.size()) {
      text.push_back(segment[++i] == '1' ? '/' : '~');
    } else {
      text.push_back(segment[i]);
    }
  }
  return text;
}

}  // namespace

const Json* referenced(const Json& root, std::string_view reference) {
  if (!reference.starts_with('#')) return nullptr;
  reference.remove_prefix(1);
  const Json* at = &root;
  while (at != nullptr && reference.starts_with('/')) {
    reference.remove_prefix(1);
    const std::size_t end = std::min(reference.find('/'), reference.size());
    const std::string segment = unescaped(reference.substr(0, end));
    if (at->is_array()) {
      std::size_t index = at->size();
      std::from_chars(segment.data(), segment.data() + segment.size(), index);
      at = index < at->size() ? &(*at)[index] : nullptr;
    } else {
      at = member(*at, segment);
    }
    reference.remove_prefix(end);
  }
  return at;
}

}  // namespace millrace::providers
