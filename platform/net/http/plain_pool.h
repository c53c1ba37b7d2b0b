#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "platform/net/http/plain_connection.h"

namespace millrace::net {

// Connections that have done a request, for the next to the same place (HOST:PORT as it was written). In the
// loop's turn only.
class PlainPool {
 public:
  static constexpr std::size_t kKeptMax = 256;         // over all places
  static constexpr std::chrono::seconds kKeptFor{60};  // an older one is closed instead of used

  // The one that was used last; null: there is none.
  std::shared_ptr<PlainConnection> take(std::string_view origin);
  void keep(std::shared_ptr<PlainConnection> connection);
  void close();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Kept = std::vector<std::shared_ptr<PlainConnection>>;
  void drop(PlainConnection& connection);
  void drop_aged();

  std::unordered_map<std::string, Kept, Hash, std::equal_to<>> kept_;
  std::size_t count_ = 0;
};

}  // namespace millrace::net
