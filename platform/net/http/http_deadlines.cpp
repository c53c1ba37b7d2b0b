#include "platform/net/http/http_deadlines.h"

namespace millrace::net {

Deadlines::Entry Deadlines::insert(TimePoint when, HttpClient::Transfer& transfer) {
  const Entry entry = entries_.emplace(when, &transfer);
  if (when < armed_) arm();
  return entry;
}

void Deadlines::close() {
  alive_.reset();
  timer_.cancel();
}

void Deadlines::arm() {
  armed_ = entries_.empty() ? TimePoint::max() : entries_.begin()->first;
  if (entries_.empty()) return;
  timer_.expires_at(armed_);
  timer_.async_wait(with_run_lock(impl_, [this, alive = std::weak_ptr(alive_)](asio::error_code error) {
    if (!error && !alive.expired()) wake_up();
  }));
}

void Deadlines::wake_up() {
  const TimePoint now = std::chrono::steady_clock::now();
  armed_ = TimePoint::min();  // no timer is armed until the end of this function
  const std::weak_ptr alive = alive_;
  while (!entries_.empty() && entries_.begin()->first <= now) {
    HttpClient::Transfer& transfer = *entries_.begin()->second;
    entries_.erase(entries_.begin());
    due_(transfer);
    if (alive.expired()) return;
  }
  arm();
}

}  // namespace millrace::net
