#pragma once
#include <optional>
#include <string_view>

namespace millrace::schemas {

// The double that is nearest to a JSON number, however large or long that is: beyond a double's range the
// largest of its sign. nullopt: `text`, white space at its end aside, is no JSON number.
std::optional<double> json_number(std::string_view text);

}  // namespace millrace::schemas
