#include "platform/base/yaml_fault.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace millrace::base {
namespace {

// The beginning of a message of yaml-cpp, and what it means.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kWords{{
    {"end of map not found", "this line is indented differently from the lines that it belongs to"},
    {"end of sequence not found", "this line is indented differently from the list that it belongs to"},
    {"illegal map value",
     "a `: ` that begins no value: check the indentation, or put a value that contains `: ` in quotes"},
    {"illegal map key", "a name is not allowed here; check the indentation"},
    {"illegal block entry", "a list item (`- `) is not allowed here; check the indentation"},
    {"illegal EOF in scalar", "a quoted text has no closing quote"},
    {"illegal document indicator in scalar", "a quoted text has no closing quote"},
    {"illegal tab", "a tab in the indentation; use spaces"},
    {"illegal flow end", "a closing bracket without an opening one"},
    {"unknown escape character", "an unknown escape after `\\` in double quotes; use single quotes"},
    {"unknown token",
     "a character that cannot begin a value, such as `@`, `%` or a tab; put the value in quotes"},
    {"the referenced anchor is not defined", "`*` begins a reference to nothing; put the value in quotes"},
}};

struct Bracket {
  char open;
  int line;
};

// The last opening bracket that is not closed, outside of quotes and comments. open 0: none.
Bracket open_bracket(std::string_view text) {
  std::vector<Bracket> open{{0, 0}};
  char quote = 0;
  int line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    const bool begins = i == 0 || std::string_view(" \t\n,[{:").find(text[i - 1]) != std::string_view::npos;
    if (quote != 0) {
      if (c == quote) quote = 0;
      if (c == '\\' && quote == '"') ++i;
    } else if ((c == '"' || c == '\'') && begins) {
      quote = c;
    } else if (c == '#' && begins) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '[' || c == '{') {
      open.push_back({c, line});
    } else if ((c == ']' || c == '}') && open.size() > 1) {
      open.pop_back();
    }
  }
  return open.back();
}

}  // namespace

YamlFault yaml_fault(const std::string& message, int line, std::string_view text) {
  if (message.ends_with("flow not found")) {
    const Bracket bracket = open_bracket(text);
    const std::string at = std::to_string(bracket.line);
    if (bracket.open == '[') return {"the list that begins in line " + at + " has no `]`", bracket.line};
    if (bracket.open == '{') return {"the map that begins in line " + at + " has no `}`", bracket.line};
  }
  for (const auto& [theirs, ours] : kWords) {
    if (message.starts_with(theirs)) return {std::string(ours), line};
  }
  return {message, line};
}

}  // namespace millrace::base
