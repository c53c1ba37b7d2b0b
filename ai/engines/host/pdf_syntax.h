#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace millrace::engines::host {

// The values that a PDF is made of (ISO 32000-1, 7.3), as far as a look at its page tree needs them.
struct PdfRef {
  std::int64_t number = 0;
};
struct PdfName {
  std::string text;
};
// A string, a real number or a truth value: nothing that a page tree hangs on.
struct PdfOpaque {};
struct PdfValue;
using PdfArray = std::vector<PdfValue>;
using PdfDict = std::map<std::string, PdfValue, std::less<>>;
struct PdfValue {
  // monostate: the null object.
  std::variant<std::monostate, std::int64_t, PdfName, PdfRef, PdfArray, PdfDict, PdfOpaque> is;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&is);
  }
};

// The entry of a dictionary; nullptr: it has none of this name.
const PdfValue* entry(const PdfDict& dict, std::string_view name);
// The same where it must be a plain number.
std::optional<std::int64_t> number_in(const PdfDict& dict, std::string_view name);
bool is_name(const PdfValue* value, std::string_view name);

// Reads values from hostile text: never past its end, never deeper than 32, never more than 200,000 values.
class PdfScanner {
 public:
  explicit PdfScanner(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}

  std::size_t at() const { return at_; }
  void skip_space();
  // Takes `word` if it comes next.
  bool take(std::string_view word);
  // A whole number without a sign.
  std::optional<std::int64_t> number();
  // nullopt: no value, or one beyond the bounds.
  std::optional<PdfValue> value();

 private:
  bool starts(std::string_view word) const { return text_.substr(at_, word.size()) == word; }
  std::optional<PdfValue> value_at(int depth);
  std::optional<PdfValue> array(int depth);
  std::optional<PdfValue> dict(int depth);
  std::optional<PdfValue> name();
  std::optional<PdfValue> text();
  std::optional<PdfValue> hex_text();
  std::optional<PdfValue> number_or_ref();
  std::optional<PdfValue> word();

  std::string_view text_;
  std::size_t at_;
  int values_left_ = 200'000;
};

}  // namespace millrace::engines::host
