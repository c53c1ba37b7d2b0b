#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "api/front/exchange.h"
#include "api/front/read_stop.h"
#include "api/front/server.h"
#include "platform/base/result.h"

namespace millrace::front {

// The one thread beside Pistache's: it waits for sockets that became writable, ticks, and runs what is posted
// to it, in order. Sockets are known by the id of their connection, never by their fd, which the kernel uses
// again.
class AuxLoop {
 public:
  struct Callbacks {
    std::function<void(std::uint64_t id)> writable;
    std::function<void()> tick;
  };

  AuxLoop() = default;
  ~AuxLoop();
  AuxLoop(const AuxLoop&) = delete;
  AuxLoop& operator=(const AuxLoop&) = delete;

  // Error: the kernel gives no fd. REQUIRES: called once.
  base::Status start(Callbacks callbacks, std::chrono::milliseconds tick_period);
  // Runs what was posted before, then ends the thread. What is posted later is dropped. Not from the loop's
  // thread.
  void stop();

  // Thread-safe, non-blocking. An exception of `task` is logged and dropped.
  void post(std::function<void()> task);

  // Reports `id` once when `fd` can be written again. `known`: this fd was armed before (kept by the caller).
  // The kernel forgets an fd when it is closed.
  void arm(int fd, std::uint64_t id, bool& known);

 private:
  void run(const std::stop_token& stop);
  void run_tasks();
  void wake() const;

  Callbacks callbacks_;
  std::chrono::milliseconds tick_period_{0};
  int epoll_ = -1;
  int wakeup_ = -1;
  std::mutex mutex_;
  bool accepting_ = false;
  std::vector<std::function<void()>> tasks_;
  std::jthread thread_;
};

// What all connections of a server share. It outlives the server if a Responder does; then every connection
// is closed, and nothing but `aux.post` (which drops) is used.
class Core {
 public:
  Core(Application& the_application, const Limits& the_limits)
      : application(the_application), limits(the_limits) {}

  struct Counters {
    std::atomic<std::uint64_t> connections_open{0}, connections_total{0}, requests_total{0};
    std::atomic<std::uint64_t> client_gone_total{0}, timeouts_total{0}, bad_requests_total{0},
        refused_total{0};
  };

  Application& application;
  const Limits limits;
  Counters counters;
  AuxLoop aux;
  SilentSocket silence;

  // The connections, by id. Thread-safe.
  std::uint64_t next_id() { return ++ids_; }
  void add(std::uint64_t id, std::shared_ptr<Connection> connection);
  void remove(std::uint64_t id);
  std::shared_ptr<Connection> find(std::uint64_t id) const;
  std::vector<std::shared_ptr<Connection>> connections() const;
  // Waits until no connection is left, or the deadline.
  void wait_empty(std::chrono::milliseconds deadline);

  // A request may run: false once `refuse_new` was called, unless it is one for `while_draining`. Each true
  // is followed by one `request_done`.
  bool request_begins(bool while_draining);
  void request_done();
  // A connection has output that the kernel did not take; and it has no more.
  void output_waits() { ++unsent_; }
  void output_left();

  bool refusing() const { return refusing_; }
  void refuse_new() { refusing_ = true; }
  bool stopping() const { return stopping_; }
  void stop_accepting() { stopping_ = true; }
  std::uint64_t in_flight() const { return in_flight_; }
  // Waits until no request is in flight and no output waits, or the deadline; the requests still in flight.
  std::size_t wait_quiet(std::chrono::milliseconds deadline);

 private:
  void notify_change();

  std::atomic<std::uint64_t> ids_{0};
  std::atomic<std::uint64_t> in_flight_{0};
  std::atomic<std::uint64_t> unsent_{0};
  std::atomic<bool> refusing_{false};
  std::atomic<bool> stopping_{false};
  std::mutex quiet_mutex_;
  std::condition_variable quiet_;
  mutable std::mutex mutex_;
  std::condition_variable empty_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> connections_;
};

}  // namespace millrace::front
