#pragma once
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace millrace::providers {

// Names of at most `bytes_max` bytes that all differ. The time for a name does not grow with the number of
// names that begin like it.
class UniqueNames {
 public:
  explicit UniqueNames(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void take(std::string_view name) { taken_.emplace(name); }
  // The name, cut to `bytes_max`. If it is taken, it gets a number, before which it is cut so that both fit.
  std::string add(std::string_view name);

 private:
  const std::size_t bytes_max_;
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, int> next_;  // by the cut name: the first number that may be free
};

}  // namespace millrace::providers
