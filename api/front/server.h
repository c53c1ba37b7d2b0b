#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/front/exchange.h"
#include "platform/base/result.h"

namespace millrace::front {

// Every bound of the front end. A limit of time is checked each 250 ms.
struct Limits {
  std::size_t head_bytes_max = 32 * 1024;       // 431
  std::size_t headers_max = 128;                // 431
  std::size_t pipelined_bytes_max = 64 * 1024;  // waiting behind a pending request; past it the client is cut
  std::size_t connections_max = 10'000;         // 503, close
  std::size_t stream_backlog_max = 8u << 20;    // a slower stream reader is cut
  std::chrono::milliseconds head_timeout{10'000};         // first byte → whole head; 408
  std::chrono::milliseconds body_stall_timeout{15'000};   // no byte of the body; 408
  std::size_t body_bytes_per_second_min = 1024;           // averaged, after body_stall_timeout; 408
  std::chrono::milliseconds write_stall_timeout{30'000};  // a reader that takes nothing is cut
  std::chrono::milliseconds idle_timeout{75'000};         // keep-alive without a request
  // How long a front thread looks for what comes next before it sleeps, where that comes so soon (RestJudge).
  std::chrono::microseconds idle_poll{200};  // 0: never, nor for what is due
  // How long it looks for what is due beside its clients (Options::Beside::due): since it is, or since the
  // last of it came.
  std::chrono::microseconds due_poll{2'000};
  std::chrono::milliseconds linger{2'000};  // input discarded after an error reply, before the cut
};

struct Stats {
  std::uint64_t connections_open = 0, connections_total = 0, requests_total = 0, in_flight = 0;
  std::uint64_t client_gone_total = 0, timeouts_total = 0, bad_requests_total = 0, refused_total = 0;
};

// The HTTP/1.1 listener on Pistache 0.0.5 (docs/design/architecture.md §5): its acceptor, reactor and head
// parser; our framing, writes, limits and drain. Knows no route. Threads: `threads` Pistache workers and one
// aux thread (writable sockets, ticks, pipelined leftovers). `application` must outlive it.
class Server {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;  // 0: a free one
    int threads = 1;            // 1, at most 2
    Limits limits;
    // Something that the front's thread waits for beside its clients, where it is the only one.
    struct ExtraFd {
      std::function<int()> begin;   // once, on that thread: what to watch, edge by edge; -1: nothing
      std::function<void()> ready;  // there is something; on that thread, must not block or throw
      std::function<void()> end;    // nobody watches any more
      // Whether it will probably be ready within a millisecond or so. On that thread, often, where `begin`
      // gave something; empty: that is not known.
      std::function<bool()> due = nullptr;
    };
    std::vector<ExtraFd> extra_fds = {};
  };

  Server(Options options, Application& application);
  ~Server();  // stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Binds and serves. Error: the address cannot be bound (message names it).
  base::Status start();
  // The error that `start` would have now, before anything is made for it.
  static base::Status try_address(const Options& options);
  std::uint16_t port() const;

  // From now on every new request that is not admitted for a drain (Admit::while_draining) is answered with
  // `error_reply(503)`, and idle connections are shut.
  void refuse_new();
  // Waits until nothing is in flight and all output has left, or the deadline; returns the requests still in
  // flight.
  std::size_t drain(std::chrono::milliseconds deadline);
  // Cuts every connection and ends the threads. Callbacks of a Responder that come after it are dropped.
  void stop();
  Stats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::front
