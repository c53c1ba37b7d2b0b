#include "tests/bench/measure/flags.h"

#include <algorithm>
#include <charconv>

namespace millrace::bench {

base::Result<Flags> Flags::read(int count, char** words, const std::vector<std::string>& known) {
  Flags flags;
  for (int i = 1; i < count; i += 2) {
    const std::string word = words[i];
    if (word.rfind("--", 0) != 0 || std::find(known.begin(), known.end(), word.substr(2)) == known.end())
      return base::error(base::Code::kInvalidField, "unknown flag " + word);
    if (i + 1 >= count) return base::error(base::Code::kInvalidField, word + " needs a value");
    flags.values_.emplace(word.substr(2), words[i + 1]);
  }
  return flags;
}

std::string Flags::text(const std::string& name, const std::string& otherwise) const {
  const auto values = all(name);
  return values.empty() ? otherwise : values.back();
}

std::vector<std::string> Flags::all(const std::string& name) const {
  std::vector<std::string> values;
  const auto [begin, end] = values_.equal_range(name);
  for (auto it = begin; it != end; ++it) values.push_back(it->second);
  return values;
}

base::Result<double> Flags::number(const std::string& name, double otherwise) const {
  const std::string value = text(name);
  if (value.empty()) return otherwise;
  double out = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (problem != std::errc{} || end != value.data() + value.size())
    return base::error(base::Code::kInvalidField, "--" + name + " is not a number: " + value);
  return out;
}

}  // namespace millrace::bench
