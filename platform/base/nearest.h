#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace millrace::base {

// The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that is closest to `wrong`. Empty if none is close: more than a third of its letters differ.
std::string_view nearest(std::string_view wrong, std::span<const std::string_view> candidates);

}  // namespace millrace::base
