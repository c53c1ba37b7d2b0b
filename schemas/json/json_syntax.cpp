#include "schemas/json/json_syntax.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace millrace::schemas {
namespace {

class SyntaxScanner {
 public:
  explicit SyntaxScanner(std::string_view text) : text_(text) {}

  bool scan() {
    skip_blanks();
    if (next() != '{' && next() != '[') return false;
    bool fits = take_value();
    while (fits && !in_object_.empty()) fits = take_after_value();
    skip_blanks();
    return fits && at_ == text_.size();
  }

 private:
  // 0 at the end.
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char wanted) {
    skip_blanks();
    if (next() != wanted) return false;
    ++at_;
    return true;
  }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  // A value, or the beginning of one that has members or elements.
  bool take_value() {
    skip_blanks();
    if (next() == '"') return take_string();
    if (take('{')) return take('}') || begin_object();
    if (take('[')) return take(']') || begin_list();
    return take_word();
  }

  // Values that are nested are taken by the loop of `scan`, not by recursion.
  bool begin_object() {
    in_object_.push_back(true);
    return take_name_before_value();
  }

  bool begin_list() {
    in_object_.push_back(false);
    value_is_next_ = true;
    return true;
  }

  bool take_name_before_value() {
    value_is_next_ = take_name();
    return value_is_next_;
  }

  bool take_after_value() {
    if (value_is_next_) {
      value_is_next_ = false;
      return take_value();
    }
    if (take(',')) {
      if (in_object_.back()) return take_name_before_value();
      value_is_next_ = true;
      return true;
    }
    const bool ends = take(in_object_.back() ? '}' : ']');
    in_object_.pop_back();
    return ends;
  }

  bool take_name() {
    skip_blanks();
    return take_string() && take(':');
  }

  bool take_string() {
    if (next() != '"') return false;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] == '\\') ++at_;
    }
    return false;
  }

  bool take_word() {
    constexpr std::array<std::string_view, 6> kWords{"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    constexpr std::string_view kNumber = "0123456789+-.eE";
    const std::string_view rest = text_.substr(at_);
    const auto* word =
        std::ranges::find_if(kWords, [&](std::string_view each) { return rest.starts_with(each); });
    const std::size_t size =
        word != kWords.end() ? word->size() : std::min(rest.find_first_not_of(kNumber), rest.size());
    at_ += size;
    return size > 0;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool value_is_next_ = false;
  std::vector<bool> in_object_;  // of each open object or list
};

}  // namespace

bool is_json_of_any_depth(std::string_view text) { return SyntaxScanner(text).scan(); }

}  // namespace millrace::schemas
