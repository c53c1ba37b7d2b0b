#include "api/cursor.h"

#include <charconv>

namespace millrace::api {
namespace {

constexpr std::string_view kJobMark = "j1_";
constexpr std::string_view kEventMark = "e1_";

}  // namespace

std::string job_cursor(const base::Uuid& before) { return std::string(kJobMark) + before.str(); }

std::optional<base::Uuid> job_cursor_of(std::string_view text) {
  if (!text.starts_with(kJobMark)) return std::nullopt;
  return base::Uuid::parse(text.substr(kJobMark.size()));
}

std::string event_cursor(std::int64_t after_version) {
  return std::string(kEventMark) + std::to_string(after_version);
}

std::optional<std::int64_t> event_cursor_of(std::string_view text) {
  if (!text.starts_with(kEventMark)) return std::nullopt;
  text.remove_prefix(kEventMark.size());
  std::int64_t version = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (failed != std::errc() || end != text.data() + text.size() || version < 0) return std::nullopt;
  return version;
}

}  // namespace millrace::api
