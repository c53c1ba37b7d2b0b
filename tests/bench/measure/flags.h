#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/result.h"

namespace millrace::bench {

// `--name value` pairs of a benchmark's command line. A name may be repeated.
class Flags {
 public:
  // kInvalidField: an argument without "--", a flag without a value, or a flag that is not in `known`.
  static base::Result<Flags> read(int count, char** words, const std::vector<std::string>& known);

  std::string text(const std::string& name, const std::string& otherwise = {}) const;  // the last value
  std::vector<std::string> all(const std::string& name) const;
  // Returns `otherwise` if the flag is absent. kInvalidField: the value is not a number.
  base::Result<double> number(const std::string& name, double otherwise) const;

 private:
  std::multimap<std::string, std::string> values_;
};

}  // namespace millrace::bench
