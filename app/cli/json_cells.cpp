#include "app/cli/json_cells.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "platform/base/clock.h"

namespace millrace::cli {

using nlohmann::json;
namespace {

// The length of the character at the front if it must not be printed on a terminal; 0: it may be printed.
std::size_t unshown_bytes(std::string_view utf8) {
  const auto byte = [&](std::size_t at) {
    return at < utf8.size() ? static_cast<unsigned char>(utf8[at]) : 0U;
  };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0) return 2;  // U+0080 to U+009F
  if (byte(0) != 0xe2) return 0;
  const bool breaks_or_turns = byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae;  // U+2028 to U+202E
  const bool isolates = byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;         // U+2066 to U+2069
  return breaks_or_turns || isolates ? 3 : 0;
}

void cut_at(std::string& utf8, std::size_t bytes_max) {
  if (utf8.size() <= bytes_max) return;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(utf8[end]) & 0xc0) == 0x80) --end;
  utf8.resize(end);
  utf8 += "…";
}

}  // namespace

std::string text_at(const json& of, const char* key) {
  const auto found = of.find(key);
  return found != of.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string time_at(const json& of, const char* key) {
  const auto at = of.find(key);
  if (at == of.end() || !at->is_number_integer()) return "-";
  const auto time = base::wall_from(at->get<std::int64_t>() * 1000);
  return base::rfc3339(time).substr(0, sizeof "2026-05-04T08:30:00" - 1) + "Z";
}

std::string local_json(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string plain(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string one_line(std::string_view utf8, std::size_t bytes_max) {
  std::string out;
  while (!utf8.empty()) {
    const std::size_t unshown = unshown_bytes(utf8);
    out += unshown > 0 ? ' ' : utf8.front();
    utf8.remove_prefix(std::min(utf8.size(), std::max<std::size_t>(unshown, 1)));
  }
  cut_at(out, bytes_max);
  return out;
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : one_line(text); }

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string more_rows_text(std::string_view rows, std::size_t shown, std::size_t seen, bool all,
                           std::string_view otherwise) {
  const std::string count = std::to_string(seen);
  std::string text = std::to_string(shown) + " of " + (all ? count : "more than " + count) + " ";
  text.append(rows).append(" are shown; --limit ");
  if (all) return text + count + " shows all";
  return text.append("shows more").append(otherwise);
}

}  // namespace millrace::cli
