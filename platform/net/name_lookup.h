#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "platform/net/loop_impl.h"
#include "platform/net/resolvers.h"

namespace millrace::net {

// The addresses of hosts. Names are looked up on threads beside the loop, and remembered for a while; numbers
// need none. In the loop's turn only.
class NameLookup {
 public:
  using Addresses = Resolvers::Addresses;
  static constexpr std::chrono::seconds kRememberedFor{60};
  static constexpr std::size_t kRememberedMax = 256;

  explicit NameLookup(Loop::Impl& impl, Resolvers::Resolve resolve = &Resolvers::of_the_system)
      : impl_(impl), resolvers_(std::move(resolve)) {}
  // What is known at once, in `port`; empty: it has to be looked up.
  Addresses known(std::string_view host, std::uint16_t port);
  // `done` has none if there are none; not from within this call. Who asks for a name that is being looked up
  // waits for that.
  void look_up(const std::string& host, std::uint16_t port, std::function<void(Addresses)> done);
  void close();

 private:
  struct Remembered {
    Addresses addresses;
    std::chrono::steady_clock::time_point until;
  };
  struct Asker {
    std::uint16_t port = 0;
    std::function<void(Addresses)> done;
  };
  void answer(const std::string& host, const Addresses& addresses);
  void remember(const std::string& host, const Addresses& addresses);

  Loop::Impl& impl_;
  std::map<std::string, Remembered, std::less<>> remembered_;
  std::map<std::string, std::vector<Asker>, std::less<>> asked_;  // names that are being looked up
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Resolvers resolvers_;
};

}  // namespace millrace::net
