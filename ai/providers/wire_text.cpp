#include "ai/providers/wire_text.h"

#include <algorithm>

#include "schemas/json/json_syntax.h"

namespace millrace::providers {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "v1", "v1beta", "v1alpha2"
bool is_version(std::string_view segment) {
  if (segment.size() < 2 || segment[0] != 'v' || !is_digit(segment[1])) return false;
  segment.remove_prefix(1);
  while (!segment.empty() && is_digit(segment[0])) segment.remove_prefix(1);
  for (const std::string_view stage : {"alpha", "beta"}) {
    if (segment.starts_with(stage)) segment.remove_prefix(stage.size());
  }
  return std::all_of(segment.begin(), segment.end(), is_digit);
}

}  // namespace

std::string versioned_path(std::string_view base_url, std::string_view version, std::string_view path) {
  const std::size_t slash = base_url.rfind('/');
  const bool has_version = slash != std::string_view::npos && is_version(base_url.substr(slash + 1));
  return (has_version ? std::string() : std::string(version)).append(path);
}

std::string_view first_characters(std::string_view text, std::size_t characters) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool begins_one = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (begins_one && characters-- == 0) break;
  }
  return text.substr(0, end);
}

std::string_view shown_name(const Target& target) {
  return target.name.empty() ? target.preset->name : std::string_view(target.name);
}

base::Error not_a_reply(const Target& target) {
  return base::error(base::Code::kUpstream,
                     std::string(shown_name(target)) + " sent a response that is not a reply of its API");
}

base::Error unreadable(const Target& target, std::string_view text) {
  if (!schemas::is_json_of_any_depth(text)) return not_a_reply(target);
  return content_fault(
      target, "sent JSON that is nested too deeply, or with a number that is missing or out of range");
}

base::Error fault(const Target& target, std::string_view what) {
  return base::error(base::Code::kUpstream, std::string(shown_name(target)).append(" ").append(what));
}

base::Error content_fault(const Target& target, std::string_view what) {
  base::Error error = fault(target, what);
  error.is_content_fault = true;
  return error;
}

std::string service_tier_value(std::string_view word) {
  return std::string(word == "standard" || word == "STANDARD" ? std::string_view("default") : word);
}

}  // namespace millrace::providers
