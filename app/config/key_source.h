#pragma once
#include <map>
#include <string>

#include "platform/base/crypto.h"
#include "platform/base/result.h"

namespace millrace::app {

// Reads the secrets that the configuration refers to as `env:NAME` or `file:PATH`. The configuration itself
// never contains them.
class KeySource {
 public:
  explicit KeySource(const std::map<std::string, std::string>& environment) : environment_(environment) {}

  // True if `text` is a reference to a secret; otherwise it is the secret itself.
  static bool is_reference(const std::string& text);
  // kNotFound: the variable is not set, or the file cannot be read or is empty. kInvalidField: not a
  // reference; the message never contains the text, which may be a secret.
  base::Result<base::Secret> read(const std::string& text) const;
  // The value of a variable. Empty: it is not set.
  base::Secret variable(const std::string& name) const;

 private:
  const std::map<std::string, std::string>& environment_;
};

}  // namespace millrace::app
