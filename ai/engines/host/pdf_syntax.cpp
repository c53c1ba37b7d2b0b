#include "ai/engines/host/pdf_syntax.h"

#include <charconv>

namespace millrace::engines::host {
namespace {

constexpr int kDepthMax = 32;
constexpr std::string_view kSpace{"\0\t\n\f\r ", 6};
constexpr std::string_view kDelimiters{"\0\t\n\f\r ()<>[]{}/%", 16};

std::optional<int> hex_pair(std::string_view two) {
  int value = 0;
  const auto [end, error] = std::from_chars(two.data(), two.data() + two.size(), value, 16);
  if (two.size() != 2 || error != std::errc{} || end != two.data() + 2) return std::nullopt;
  return value;
}

// Made where it stays: GCC 12 takes the destructor of a moved-from variant for one of nothing.
template <class T>
std::optional<PdfValue> found(T value) {
  std::optional<PdfValue> result(std::in_place);
  result->is.template emplace<T>(std::move(value));
  return result;
}

}  // namespace

const PdfValue* entry(const PdfDict& dict, std::string_view name) {
  const auto found = dict.find(name);
  return found == dict.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> number_in(const PdfDict& dict, std::string_view name) {
  const PdfValue* value = entry(dict, name);
  const auto* number = value == nullptr ? nullptr : value->as<std::int64_t>();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

bool is_name(const PdfValue* value, std::string_view name) {
  const auto* found = value == nullptr ? nullptr : value->as<PdfName>();
  return found != nullptr && found->text == name;
}

void PdfScanner::skip_space() {
  for (;;) {
    at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
    if (!starts("%")) return;
    at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
  }
}

bool PdfScanner::take(std::string_view word) {
  skip_space();
  if (!starts(word)) return false;
  at_ += word.size();
  return true;
}

std::optional<std::int64_t> PdfScanner::number() {
  skip_space();
  std::int64_t value = 0;
  const char* const first = text_.data() + at_;
  if (at_ >= text_.size() || *first < '0' || *first > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
  if (error != std::errc{}) return std::nullopt;
  at_ += static_cast<std::size_t>(end - first);
  return value;
}

std::optional<PdfValue> PdfScanner::value() { return value_at(0); }

std::optional<PdfValue> PdfScanner::value_at(int depth) {
  skip_space();
  if (at_ >= text_.size() || depth > kDepthMax || --values_left_ < 0) return std::nullopt;
  if (starts("<<")) return dict(depth);
  switch (text_[at_]) {
    case '<':
      return hex_text();
    case '(':
      return text();
    case '[':
      return array(depth);
    case '/':
      return name();
    default:
      return std::string_view("+-.0123456789").find(text_[at_]) == std::string_view::npos ? word()
                                                                                          : number_or_ref();
  }
}

std::optional<PdfValue> PdfScanner::array(int depth) {
  PdfArray array;
  ++at_;
  while (!take("]")) {
    auto value = value_at(depth + 1);
    if (!value) return std::nullopt;
    array.push_back(std::move(*value));
  }
  return found(std::move(array));
}

std::optional<PdfValue> PdfScanner::dict(int depth) {
  PdfDict dict;
  at_ += 2;
  while (!take(">>")) {
    if (!starts("/")) return std::nullopt;
    const auto key = name();
    auto value = key ? value_at(depth + 1) : std::nullopt;
    if (!value) return std::nullopt;
    dict.insert_or_assign(key->as<PdfName>()->text, std::move(*value));
  }
  return found(std::move(dict));
}

std::optional<PdfValue> PdfScanner::name() {
  const std::size_t end = std::min(text_.find_first_of(kDelimiters, at_ + 1), text_.size());
  PdfName name;
  for (++at_; at_ < end; ++at_) {
    const auto code = text_[at_] == '#' ? hex_pair(text_.substr(at_ + 1, 2)) : std::nullopt;
    name.text += code ? static_cast<char>(*code) : text_[at_];
    if (code) at_ += 2;
  }
  return found(std::move(name));
}

std::optional<PdfValue> PdfScanner::text() {
  int open = 0;
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\\') {
      ++at_;
    } else if (text_[at_] == '(') {
      ++open;
    } else if (text_[at_] == ')' && --open == 0) {
      ++at_;
      return found(PdfOpaque{});
    }
  }
  return std::nullopt;
}

std::optional<PdfValue> PdfScanner::hex_text() {
  const std::size_t end = text_.find('>', at_);
  if (end == std::string_view::npos) return std::nullopt;
  at_ = end + 1;
  return found(PdfOpaque{});
}

std::optional<PdfValue> PdfScanner::number_or_ref() {
  const std::size_t begin = at_;
  const std::size_t end = std::min(text_.find_first_of(kDelimiters, at_), text_.size());
  const auto first = number();
  if (first && at_ == end) {
    if (number() && take("R")) return found(PdfRef{*first});
    at_ = end;
    return found(*first);
  }
  at_ = end;
  std::int64_t negative = 0;
  const auto read = std::from_chars(text_.data() + begin, text_.data() + end, negative);
  if (read.ec == std::errc{} && read.ptr == text_.data() + end) return found(negative);
  return found(PdfOpaque{});
}

std::optional<PdfValue> PdfScanner::word() {
  if (take("null")) return found(std::monostate{});
  if (take("true") || take("false")) return found(PdfOpaque{});
  return std::nullopt;
}

}  // namespace millrace::engines::host
