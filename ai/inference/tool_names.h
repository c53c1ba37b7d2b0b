#pragma once
#include <set>
#include <string>
#include <string_view>

namespace millrace::inference {

// The names under which a model is told the tools of servers: `server__tool`, of [a-zA-Z0-9_-], at most 64
// characters, each once. The same names in the same order give the same result.
class ToolNames {
 public:
  static constexpr std::size_t kNameMax = 64;

  void take(std::string name) { taken_.insert(std::move(name)); }  // the client's own
  std::string name(std::string_view server, std::string_view tool);

 private:
  std::set<std::string> taken_;
};

}  // namespace millrace::inference
