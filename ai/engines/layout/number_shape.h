#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::engines {

// A point or comma of a number, after so many of its digits.
struct NumberMark {
  std::size_t digits = 0;
  char mark = '.';
};

std::size_t digits_in(std::string_view text);
// Digits after the last point or comma; 0 also for the thousands after a comma.
std::size_t decimals_of(std::string_view text);
// The number with the marks of its picture that it lacks.
std::string with_marks(std::string_view number, const std::vector<NumberMark>& marks);

// What most numbers of a column have in common.
class NumberShape {
 public:
  explicit NumberShape(const std::vector<std::string>& texts);
  bool fits(std::string_view text) const;
  // Whether it has digits and no other characters than those of the column.
  bool has_only_known(std::string_view text) const;
  // The same with another unit, for columns that are misread throughout.
  void set_unit(std::string unit, bool apart) {
    unit_ = std::move(unit);
    unit_apart_ = apart;
    characters_ += unit_;
  }
  // Whether a text may be a number whose digits were read as letters; not "none" or "n/a".
  bool may_be_misread(std::string_view text) const;
  // Digits, signs, and what several of the numbers hold besides: letters of a unit, the sign of a currency.
  const std::string& characters() const { return characters_; }
  // The letters after most of the numbers: "ms".
  const std::string& unit() const { return unit_; }
  // A number and its unit, with a space between them if most numbers of the column have one.
  std::string with_unit(std::string_view number) const;
  // A text with the space before its unit that the others have; unchanged without the unit.
  std::string spaced(const std::string& text) const;
  // The mark before the decimals; 0: most of the numbers have none.
  char point() const { return point_; }

 private:
  std::string characters_;
  bool same_decimals_ = false;  // of most numbers
  std::size_t decimals_ = 0;
  char point_ = 0;
  std::string unit_;
  bool unit_apart_ = false;
  bool are_codes_ = false;  // most texts have letters among their digits, as 4C-351 has
};

// Whether a text is short and begins with signs that are like digits: "Oms", "1lms", "ic}".
bool begins_like_number(std::string_view text);
// The letters that follow such signs in most of the texts: "ms". Empty: no letters repeat.
std::string unit_of_misread(const std::vector<std::string>& texts);
// Whether a text of a column with this unit has nothing else but signs that are like digits, or a bracket
// without its other half.
bool is_misread_number(std::string_view text, std::string_view unit);
// Whether a text begins with this number, with some of its digits read as the letters that are most like
// them.
bool is_misreading_of(std::string_view text, std::string_view number);
// Whether each bracket has its other half.
bool has_whole_brackets(std::string_view text);

// A number of an item or a part: one to three capitals and digits after them, such as B12 or AB-7.
bool is_code(std::string_view word);
// How many bytes stand before the digits of most of the words, and whether most are codes. 0: they are not.
std::size_t code_prefix(const std::vector<std::string>& words);
// Whether a word is like another one, of small letters and digits, except that its digits were read as
// letters: ps0 beside p99. Returns the bytes before its digits; 0: it is not.
std::size_t misread_like(std::string_view word, std::string_view model);
// Whether a word may be a code whose digits were read as letters: AS, Bl, C8&.
bool may_be_code(std::string_view word, std::size_t prefix);

}  // namespace millrace::engines
