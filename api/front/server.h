#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/front/exchange.h"
#include "platform/base/ip_address.h"
#include "platform/base/result.h"

namespace millrace::front {

// All limits of the front end. Time limits are checked every 250 ms.
struct Limits {
  std::size_t head_bytes_max = 32 * 1024;  // 431
  std::size_t headers_max = 128;           // 431
  std::size_t pipelined_bytes_max =
      64 * 1024;  // buffered after a pending request; above it the connection is cut
  // Above it, the oldest connection without a valid key is closed for a new one, else the one that has been
  // idle longest. If all are busy: 503, close.
  std::size_t connections_max = 10'000;
  // Above it, a client address with more than connections_max / address_share connections without a valid key
  // loses its own oldest one. Trusted proxies are not counted.
  std::size_t address_share = 4;
  std::size_t stream_backlog_max = 8u << 20;  // a slower stream reader is cut
  // From the first byte to the complete head; 408. For the first head of a connection, from the connect;
  // closed without a response if no byte has come.
  std::chrono::milliseconds head_timeout{10'000};
  std::chrono::milliseconds body_stall_timeout{15'000};  // without a byte of the body; 408
  // A body must arrive at both average rates; 408. The first is checked after body_stall_timeout.
  std::size_t body_bytes_per_second_min = 1024;
  std::chrono::milliseconds body_timeout{600'000};  // all of it; a declared length also in proportion
  std::chrono::milliseconds write_stall_timeout{
      30'000};                                     // without progress in writing; the connection is cut
  std::chrono::milliseconds idle_timeout{75'000};  // a kept-alive connection without a request
  // How long a front thread polls for the next event before it sleeps, if events follow closely (SpinPolicy).
  std::chrono::microseconds idle_poll{200};  // 0: never; also disables due_poll
  // How long it polls while an extra fd is due (Options::ExtraFd::due), counted from when it became due or
  // last became ready.
  std::chrono::microseconds due_poll{2'000};
  std::chrono::milliseconds linger{
      2'000};  // how long input is discarded after an error reply before the connection is cut
};

struct Stats {
  std::uint64_t connections_open = 0, connections_total = 0, requests_total = 0, in_flight = 0;
  std::uint64_t client_gone_total = 0, timeouts_total = 0, bad_requests_total = 0, refused_total = 0;
  std::uint64_t evicted_total = 0;  // connections closed for new ones
};

// The header in which trusted proxies name the client; Forwarded is RFC 7239.
enum class ForwardedHeader : std::uint8_t { kXForwardedFor, kForwarded };

// The HTTP/1.1 listener on Pistache 0.0.5 (docs/design/architecture.md §5): its acceptor and reactor;
// our head parser, framing, writes, limits and drain. It does not know any routes. Threads: `threads`
// Pistache workers and one aux thread (writable sockets, ticks, pipelined leftovers). `application` must
// outlive it.
class Server {
 public:
  struct Options {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;  // 0: any free port
    int threads = 1;            // 1, at most 2
    Limits limits;
    // Proxies whose `forwarded_header` and X-Forwarded-* headers are believed.
    std::vector<base::IpRange> trusted_proxies = {};
    ForwardedHeader forwarded_header = ForwardedHeader::kXForwardedFor;
    // Another fd that the front thread watches besides its clients, for work that it shares: completions of
    // the store and replies of providers (app/components/gateway.cpp). Only with one thread.
    struct ExtraFd {
      std::function<int()> begin;   // called once, on that thread: the fd to watch, edge-triggered; -1: none
      std::function<void()> ready;  // the fd is ready; called on that thread, must not block or throw
      std::function<void()> end;    // the fd is no longer watched
      // Whether the fd will probably be ready within about a millisecond. Called often on that thread if
      // `begin` returned an fd. Empty: unknown.
      std::function<bool()> due = nullptr;
    };
    std::vector<ExtraFd> extra_fds = {};
  };

  Server(Options options, Application& application);
  ~Server();  // stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Binds and serves. Error: the address cannot be bound; the message contains it.
  base::Status start();
  // The error that `start` would return now. Creates nothing.
  static base::Status try_address(const Options& options);
  std::uint16_t port() const;

  // From now on, new requests without Admit::while_draining get `error_reply(503)`, and idle connections are
  // closed.
  void refuse_new();
  // Waits until no request is in flight and all output has been sent, or `deadline` has passed. Returns the
  // requests still in flight.
  std::size_t drain(std::chrono::milliseconds deadline);
  // Cuts every connection and ends the threads. Later callbacks of a Responder are dropped.
  void stop();
  Stats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::front
