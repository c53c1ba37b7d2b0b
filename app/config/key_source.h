#pragma once
#include <map>
#include <string>

#include "platform/base/crypto.h"
#include "platform/base/result.h"

namespace millrace::app {

// Where the configuration keeps its secrets: `env:NAME` or `file:PATH`, never in its own text.
class KeySource {
 public:
  explicit KeySource(const std::map<std::string, std::string>& environment) : environment_(environment) {}

  // True: `text` says where a secret is; else it is one.
  static bool is_reference(const std::string& text);
  // kNotFound: the variable is not set, or the file cannot be read or is empty; kInvalidField: no reference.
  // The message never has the text of what is no reference.
  base::Result<base::Secret> read(const std::string& text) const;
  // Of a variable; empty: it is not set.
  base::Secret variable(const std::string& name) const;

 private:
  const std::map<std::string, std::string>& environment_;
};

}  // namespace millrace::app
