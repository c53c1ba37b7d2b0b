#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/result.h"

namespace millrace::bench {

// `--name value` pairs of a bench program's command line; a name may come again.
class Flags {
 public:
  // kInvalidField: a word without "--", a flag without its value, or one that `known` does not have.
  static base::Result<Flags> read(int count, char** words, const std::vector<std::string>& known);

  std::string text(const std::string& name, const std::string& otherwise = {}) const;  // the last one
  std::vector<std::string> all(const std::string& name) const;
  // `otherwise` when it is absent; kInvalidField when it is no number.
  base::Result<double> number(const std::string& name, double otherwise) const;

 private:
  std::multimap<std::string, std::string> values_;
};

}  // namespace millrace::bench
