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

#include "api/front/eviction_queue.h"
#include "api/front/exchange.h"
#include "api/front/read_pause.h"
#include "api/front/server.h"
#include "platform/base/result.h"

namespace millrace::front {

// The one thread besides Pistache's. It waits for writable sockets, ticks, and runs posted tasks in order. It
// identifies sockets by the id of their connection, never by the fd, because the kernel reuses fd numbers.
class AuxThread {
 public:
  struct Callbacks {
    std::function<void(std::uint64_t id)> writable;
    std::function<void()> tick;
  };

  AuxThread() = default;
  ~AuxThread();
  AuxThread(const AuxThread&) = delete;
  AuxThread& operator=(const AuxThread&) = delete;

  // Error: the kernel returns no fd. REQUIRES: called once.
  base::Status start(Callbacks callbacks, std::chrono::milliseconds tick_period);
  // Runs the tasks posted before, then ends the thread. Later tasks are dropped. Must not be called on the
  // loop's thread.
  void stop();

  // Thread-safe, non-blocking. An exception of `task` is logged and dropped.
  void post(std::function<void()> task);

  // Reports `id` once when `fd` is writable. `known`: this fd was armed before; the caller stores the flag.
  // The kernel removes an fd when it is closed.
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

// State that all connections of a server share. It outlives the server if a Responder does. Then every
// connection is closed, and only `aux_thread.post` is used, which drops the task.
class ServerState {
 public:
  ServerState(Application& the_application, const Limits& the_limits,
              std::vector<base::IpRange> the_trusted_proxies = {},
              ForwardedHeader the_forwarded_header = ForwardedHeader::kXForwardedFor)
      : application(the_application),
        limits(the_limits),
        trusted_proxies(std::move(the_trusted_proxies)),
        forwarded_header(the_forwarded_header),
        unauthenticated(the_limits.connections_max / the_limits.address_share) {}

  struct Counters {
    std::atomic<std::uint64_t> connections_open{0}, connections_total{0}, requests_total{0};
    std::atomic<std::uint64_t> client_gone_total{0}, timeouts_total{0}, bad_requests_total{0},
        refused_total{0}, evicted_total{0};
  };

  Application& application;
  const Limits limits;
  const std::vector<base::IpRange> trusted_proxies;
  const ForwardedHeader forwarded_header;
  Counters counters;
  AuxThread aux_thread;
  NeverReadableSocket never_readable;
  EvictionQueue unauthenticated;

  bool is_trusted_proxy(const std::string& peer) const;

  // The connections, by id. Thread-safe.
  std::uint64_t next_id() { return ++ids_; }
  void add(std::uint64_t id, std::shared_ptr<Connection> connection);
  void remove(std::uint64_t id);
  std::shared_ptr<Connection> find(std::uint64_t id) const;
  std::vector<std::shared_ptr<Connection>> connections() const;
  // Closes another connection because `new_connection` exceeds connections_max. False: all of them are busy.
  bool evict_for(std::uint64_t new_connection);
  // Waits until no connection is left or `deadline` has passed.
  void wait_empty(std::chrono::milliseconds deadline);

  // Whether a request may run. False after `refuse_new`, unless the request is allowed `while_draining`.
  // After each true, `end_request` must be called once.
  bool try_begin_request(bool while_draining);
  void end_request();
  // Count the connections with unsent output: a connection now has some; it has none left.
  void add_unsent() { ++unsent_; }
  void remove_unsent();

  bool refusing() const { return refusing_; }
  void refuse_new() { refusing_ = true; }
  bool stopping() const { return stopping_; }
  void stop_accepting() { stopping_ = true; }
  std::uint64_t in_flight() const { return in_flight_; }
  // Waits until no request is in flight and no output is unsent, or `deadline` has passed. Returns the
  // requests still in flight.
  std::size_t wait_until_idle(std::chrono::milliseconds deadline);

 private:
  void notify_change();
  bool evict_idle();

  std::atomic<std::uint64_t> ids_{0};
  std::atomic<std::chrono::steady_clock::time_point> all_busy_at_{};  // `evict_idle` found nothing
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
