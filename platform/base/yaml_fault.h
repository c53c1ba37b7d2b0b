#pragma once
#include <string>
#include <string_view>

namespace millrace::base {

// A syntax error of a YAML file, in words for people.
struct YamlFault {
  std::string text;
  int line = 0;  // from 1; 0: unknown
};

// `message` and `line` are those of yaml-cpp for the file `text`. For a bracket without its partner, the line
// is that of the bracket.
YamlFault yaml_fault(const std::string& message, int line, std::string_view text);

}  // namespace millrace::base
