#include "platform/net/http/name_lookup.h"

#include <cstring>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <asio/post.hpp>
#include <netdb.h>
#include <pthread.h>

namespace millrace::net {
namespace {

struct AddressListFree {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

}  // namespace

Resolvers::~Resolvers() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  for (std::jthread& thread : threads_) thread.request_stop();
}

void Resolvers::query(std::string host, std::function<void(Addresses)> done) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(host), std::move(done)});
  if (waiting_.size() > free_ && threads_.size() < kThreadsMax)
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
  pending_.notify_one();
}

void Resolvers::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "names");
  std::unique_lock lock(mutex_);
  while (true) {
    ++free_;
    const bool has_work = pending_.wait(lock, stop, [this] { return !waiting_.empty(); });
    --free_;
    if (!has_work || stop.stop_requested()) return;
    const Lookup question = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    question.done(resolve_(question.host));
    lock.lock();
  }
}

Resolvers::Addresses Resolvers::of_the_system(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &first) != 0) return {};
  const std::unique_ptr<addrinfo, AddressListFree> list(first);
  Addresses out;
  for (const addrinfo* each = first; each != nullptr && out.size() < kAddressesMax; each = each->ai_next)
    std::memcpy(&out.emplace_back(), each->ai_addr,
                std::min<std::size_t>(each->ai_addrlen, sizeof(PeerAddress)));
  return out;
}

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
  std::vector<Waiter>& waiters = pending_[host];
  waiters.push_back({port, std::move(done)});
  if (waiters.size() > 1) return;
  resolvers_.query(host, [this, &impl = impl_, alive = std::weak_ptr(alive_), host](Addresses found) {
    asio::post(impl.context, with_run_lock(impl, [this, alive, host, found = std::move(found)] {
                 if (!alive.expired()) answer(host, found);
               }));
  });
}

void NameLookup::answer(const std::string& host, const Addresses& addresses) {
  remember(host, addresses);
  const auto waiters = pending_.extract(host);
  const std::weak_ptr alive(alive_);
  for (const Waiter& each : waiters.mapped()) {
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
