#include "ai/providers/unique_names.h"

#include <algorithm>

namespace millrace::providers {

std::string UniqueNames::add(std::string_view name) {
  std::string made(name.substr(0, bytes_max_));
  if (taken_.insert(made).second) return made;
  for (int number = 2;;) {
    const std::size_t suffix_bytes = 1 + std::to_string(number).size();
    const std::string cut(name.substr(0, bytes_max_ - suffix_bytes));
    int& next = next_.try_emplace(cut, number).first->second;
    number = std::max(number, next);
    made = cut + "_" + std::to_string(number);
    if (made.size() > bytes_max_) continue;  // the number has one digit more, so the name is cut again
    next = ++number;
    if (taken_.insert(made).second) return made;
  }
}

}  // namespace millrace::providers
