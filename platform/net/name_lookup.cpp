#include "platform/net/name_lookup.h"

#include <utility>

#include <arpa/inet.h>
#include <asio/post.hpp>

namespace millrace::net {
namespace {

void set_port(PeerAddress& address, std::uint16_t port) {
  if (address.any.sa_family == AF_INET6) {
    address.v6.sin6_port = htons(port);
  } else {
    address.v4.sin_port = htons(port);
  }
}

NameLookup::Addresses number(std::string_view host) {
  const std::string text(host);
  PeerAddress address{};
  if (::inet_pton(AF_INET, text.c_str(), &address.v4.sin_addr) == 1) {
    address.any.sa_family = AF_INET;
    return {address};
  }
  if (::inet_pton(AF_INET6, text.c_str(), &address.v6.sin6_addr) != 1) return {};
  address.any.sa_family = AF_INET6;
  return {address};
}

NameLookup::Addresses at_port(NameLookup::Addresses addresses, std::uint16_t port) {
  for (PeerAddress& each : addresses) set_port(each, port);
  return addresses;
}

}  // namespace

NameLookup::Addresses NameLookup::known(std::string_view host, std::uint16_t port) {
  if (Addresses itself = number(host); !itself.empty()) return at_port(std::move(itself), port);
  const auto found = remembered_.find(host);
  if (found == remembered_.end() || found->second.until < std::chrono::steady_clock::now()) return {};
  return at_port(found->second.addresses, port);
}

void NameLookup::look_up(const std::string& host, std::uint16_t port, std::function<void(Addresses)> done) {
  std::vector<Asker>& askers = asked_[host];
  askers.push_back({port, std::move(done)});
  if (askers.size() > 1) return;
  resolvers_.ask(host, [this, &impl = impl_, alive = std::weak_ptr(alive_), host](Addresses found) {
    asio::post(impl.context, in_turn(impl, [this, alive, host, found = std::move(found)] {
                 if (!alive.expired()) answer(host, found);
               }));
  });
}

void NameLookup::answer(const std::string& host, const Addresses& addresses) {
  remember(host, addresses);
  const auto askers = asked_.extract(host);
  const std::weak_ptr alive(alive_);
  for (const Asker& each : askers.mapped()) {
    each.done(at_port(addresses, each.port));
    if (alive.expired()) return;
  }
}

void NameLookup::remember(const std::string& host, const Addresses& addresses) {
  if (addresses.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  if (remembered_.size() >= kRememberedMax)
    std::erase_if(remembered_, [&](const auto& entry) { return entry.second.until < now; });
  if (remembered_.size() < kRememberedMax) remembered_[host] = {addresses, now + kRememberedFor};
}

void NameLookup::close() { alive_.reset(); }

}  // namespace millrace::net
