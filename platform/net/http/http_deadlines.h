#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include <asio/steady_timer.hpp>

#include "platform/net/http/http_client.h"
#include "platform/net/loop_impl.h"

namespace millrace::net {

// The deadlines of transfers, with one timer for all. Moving a deadline to a later time needs no system call
// until the old time is reached. Loop thread only; for the sources of this module.
class Deadlines {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Entry = std::multimap<TimePoint, HttpClient::Transfer*>::iterator;

  // `due` is called for each transfer whose deadline is reached; its entry is removed before.
  Deadlines(Loop::Impl& impl, std::function<void(HttpClient::Transfer&)> due)
      : impl_(impl), timer_(impl.context), due_(std::move(due)) {}

  Entry insert(TimePoint when, HttpClient::Transfer& transfer);
  void erase(Entry entry) { entries_.erase(entry); }
  void close();  // `due` is not called any more

 private:
  void arm();
  void wake_up();

  Loop::Impl& impl_;
  asio::steady_timer timer_;
  std::function<void(HttpClient::Transfer&)> due_;
  std::multimap<TimePoint, HttpClient::Transfer*> entries_;
  TimePoint armed_ = TimePoint::max();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace millrace::net
