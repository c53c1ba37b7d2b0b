#include "api/byte_range.h"

#include <algorithm>
#include <charconv>

#include "api/headers.h"

namespace millrace::api {
namespace {

using Kind = RangeChoice::Kind;

// Digits alone; a number past any file stays one.
std::optional<std::int64_t> position(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::int64_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  return failed == std::errc() ? out : INT64_MAX;
}

RangeChoice part(std::int64_t first, std::int64_t count) { return {Kind::kPart, {first, count}}; }
RangeChoice unsatisfied() { return {Kind::kUnsatisfied, {}}; }

// "-N": the last N bytes.
RangeChoice suffix(std::string_view text, std::int64_t size) {
  const auto wanted = position(text);
  if (!wanted) return {};
  const std::int64_t count = std::min(*wanted, size);
  return count > 0 ? part(size - count, count) : unsatisfied();
}

RangeChoice one_range(std::string_view text, std::int64_t size) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return {};
  if (dash == 0) return suffix(text.substr(1), size);
  const auto first = position(text.substr(0, dash));
  const std::string_view end = text.substr(dash + 1);
  const auto last = end.empty() ? std::optional(INT64_MAX) : position(end);
  if (!first || !last || *last < *first) return {};
  if (*first >= size) return unsatisfied();
  return part(*first, std::min(*last, size - 1) - *first + 1);
}

}  // namespace

RangeChoice choose_range(const front::Head& head, std::string_view etag, std::int64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  const std::string_view range = trimmed(head.header("range").value_or(""));
  if (head.method != "GET" || !range.starts_with(kUnit)) return {};
  const auto condition = head.header("if-range");
  if (condition && trimmed(*condition) != etag) return {};
  return one_range(trimmed(range.substr(kUnit.size())), size);
}

bool is_unchanged(const front::Head& head, std::string_view etag) {
  std::string_view list = head.header("if-none-match").value_or("");
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view each = trimmed(list.substr(0, comma));
    if (each.starts_with("W/")) each.remove_prefix(2);
    if (each == etag || each == "*") return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace millrace::api
