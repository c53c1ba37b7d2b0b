#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/layout/number_shape.h"
#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Units of one letter that a recogniser takes for the last digit of a number: "95.8 g" is read as 95.89, and
// "25 l" as 251. The text of a column cannot tell them from numbers; the picture can.

// The digit with which nearly all numbers of a column end, or some while the others end in the unit that may
// be read as it; 0: there is none. Prices that end in 9 have one, too.
char common_last_digit(const std::vector<std::string>& texts);
// Whether a number ends in the unit that is like the digit, and was read well.
bool ends_in_unit_like(std::string_view text, char digit);
// Whether a number ends in the digit, with or without the letter that is like it.
bool ends_in_digit(std::string_view text, char digit);
// The unit that is read as this digit.
char unit_like(char digit);

// Whether the last glyph of a number stands apart, or lies lower than the others as a g does, at its top too.
// nullopt: the glyphs are not those of the text. `digits`: the components that are as tall as digits, from
// left to right.
std::optional<bool> ends_in_unit(std::string_view text, const std::vector<Box>& digits,
                                 const std::vector<NumberMark>& marks);
// Whether a gap before the last glyph is a space.
bool is_apart(const std::vector<Box>& digits);
// The number with its unit in place of the last digit: "8.79g", where the unit was read twice, ends in it
// once.
std::string with_last_as_unit(std::string_view text, bool apart);

// Whether a text ends in a unit whose first letter may be a misread "µ": "50pg", "yg", "umol/L".
bool may_be_micro(std::string_view text);
std::string with_micro(std::string text);
// Whether a text ends in a letter that may be a misread "Ω": "4.7kQ", "O".
bool may_be_ohm(std::string_view text);
std::string with_ohm(std::string text);
bool starts_with_digit(std::string_view text);
// "10⁹/L" is read as "109/L" or "10°/L", which are no amounts.
std::string with_powers_of_ten(std::string text);

}  // namespace millrace::engines
