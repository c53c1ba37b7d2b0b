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

// Idle connections that are kept for later requests to the same origin (HOST:PORT as written in the URL).
// Call only while the run lock is held.
class PlainPool {
 public:
  static constexpr std::size_t kKeptMax = 256;         // for all origins together
  static constexpr std::chrono::seconds kKeptFor{60};  // older connections are closed and not reused

  // The most recently used connection. Null: there is none.
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
