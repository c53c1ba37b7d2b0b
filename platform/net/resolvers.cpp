#include "platform/net/resolvers.h"

#include <cstring>
#include <memory>
#include <utility>

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

void Resolvers::ask(std::string host, std::function<void(Addresses)> done) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(host), std::move(done)});
  if (waiting_.size() > free_ && threads_.size() < kThreadsMax)
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
  asked_.notify_one();
}

void Resolvers::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "names");
  std::unique_lock lock(mutex_);
  while (true) {
    ++free_;
    const bool has_work = asked_.wait(lock, stop, [this] { return !waiting_.empty(); });
    --free_;
    if (!has_work || stop.stop_requested()) return;
    const Question question = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    question.done(resolve_(question.host));
    lock.lock();
  }
}

Resolvers::Addresses Resolvers::of_the_system(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &wanted, &first) != 0) return {};
  const std::unique_ptr<addrinfo, AddressListFree> list(first);
  Addresses out;
  for (const addrinfo* each = first; each != nullptr && out.size() < kAddressesMax; each = each->ai_next)
    std::memcpy(&out.emplace_back(), each->ai_addr,
                std::min<std::size_t>(each->ai_addrlen, sizeof(PeerAddress)));
  return out;
}

}  // namespace millrace::net
