#include "api/front/part_head.h"

#include <algorithm>

#include "api/front/characters.h"

namespace millrace::front {
namespace {

base::Error bad_parameter() {
  return base::error(base::Code::kBadRequest, "A header of the form has a malformed parameter");
}

int hex_digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Browsers write a quote within a name as %22 and everything else as it is.
std::string with_quotes(std::string text) {
  constexpr std::string_view kQuote = "%22";
  std::size_t at = text.find(kQuote);
  if (at == std::string::npos) return text;
  std::string out;
  std::size_t from = 0;
  for (; at != std::string::npos; at = text.find(kQuote, from)) {
    out.append(text, from, at - from) += '"';
    from = at + kQuote.size();
  }
  return out.append(text, from);
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return out;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

HeaderValue::HeaderValue(std::string_view text) {
  const std::size_t end = std::min(text.find(';'), text.size());
  first_ = without_blanks(text.substr(0, end));
  rest_ = text.substr(end);
}

base::Result<std::optional<HeaderValue::Parameter>> HeaderValue::next() {
  rest_ = without_blanks(rest_);
  while (rest_.starts_with(';')) rest_ = without_blanks(rest_.substr(1));
  if (rest_.empty()) return std::optional<Parameter>();
  const std::size_t end = rest_.find('=');
  if (end == std::string_view::npos) return bad_parameter();
  const std::string_view name = without_blanks(rest_.substr(0, end));
  if (!is_token(name)) return bad_parameter();
  rest_ = without_blanks(rest_.substr(end + 1));
  auto read = value();
  if (!read) return read.error();
  rest_ = without_blanks(rest_);
  if (!rest_.empty() && rest_.front() != ';') return bad_parameter();
  return std::optional(Parameter{lower_case(name), std::move(*read)});
}

base::Result<std::string> HeaderValue::value() {
  if (rest_.starts_with('"')) return quoted();
  const std::size_t end = std::min(rest_.find(';'), rest_.size());
  const std::string_view plain = without_blanks(rest_.substr(0, end));
  rest_ = rest_.substr(end);
  if (plain.empty() || plain.find('"') != std::string_view::npos) return bad_parameter();
  return std::string(plain);
}

// A backslash escapes a quote and itself; before anything else it is one, as in a Windows path.
base::Result<std::string> HeaderValue::quoted() {
  std::string out;
  for (std::size_t at = 1; at < rest_.size(); ++at) {
    const char c = rest_[at];
    const bool escapes =
        c == '\\' && at + 1 < rest_.size() && (rest_[at + 1] == '"' || rest_[at + 1] == '\\');
    if (escapes) {
      out += rest_[++at];
    } else if (c == '"') {
      rest_ = rest_.substr(at + 1);
      return with_quotes(std::move(out));
    } else {
      out += c;
    }
  }
  return bad_parameter();
}

std::optional<std::string> extended_value(std::string_view text) {
  const std::size_t charset = text.find('\'');
  const std::size_t language = charset == std::string_view::npos ? charset : text.find('\'', charset + 1);
  if (language == std::string_view::npos || lower_case(text.substr(0, charset)) != "utf-8")
    return std::nullopt;
  std::string out;
  text.remove_prefix(language + 1);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    if (at + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit_value(text[at + 1]), low = hex_digit_value(text[at + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return out;
}

}  // namespace millrace::front
