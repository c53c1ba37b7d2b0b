#include "api/front/server.h"

#include <atomic>
#include <utility>

#include "api/front/connection.h"
#include "api/front/listener.h"
#include "api/front/server_state.h"

namespace millrace::front {
namespace {

constexpr std::chrono::milliseconds kTickPeriod{250};
constexpr std::chrono::milliseconds kDisconnectDeadline{2'000};

}  // namespace

struct Server::Impl {
  Impl(Options server_options, Application& application)
      : options(std::move(server_options)),
        state(std::make_shared<ServerState>(application, options.limits, options.trusted_proxies,
                                            options.forwarded_header)),
        listener(state, options.threads == 1 ? options.extra_fds : std::vector<Options::ExtraFd>()) {}

  void tick() {
    if (serving) listener.nudge();
    const auto now = Connection::Clock::now();
    for (const auto& connection : state->connections()) connection->on_tick(now);
  }

  Options options;
  std::shared_ptr<ServerState> state;
  Listener listener;
  std::atomic<bool> serving{false};
  bool running = false;
};

Server::Server(Options options, Application& application)
    : impl_(std::make_unique<Impl>(std::move(options), application)) {}

Server::~Server() { stop(); }

base::Status Server::start() {
  Impl& impl = *impl_;
  AuxThread::Callbacks callbacks;
  callbacks.writable = [&impl](std::uint64_t id) {
    if (const auto connection = impl.state->find(id)) connection->on_writable();
  };
  callbacks.tick = [&impl] { impl.tick(); };
  if (auto opened = impl.state->never_readable.open(); !opened) return opened;
  if (auto started = impl.state->aux_thread.start(std::move(callbacks), kTickPeriod); !started)
    return started;
  impl.running = true;
  auto listening = impl.listener.start(impl.options.host, impl.options.port, impl.options.threads);
  impl.serving = listening.has_value();
  if (!listening) stop();
  return listening;
}

base::Status Server::try_address(const Options& options) {
  return Listener::try_address(options.host, options.port);
}

std::uint16_t Server::port() const { return impl_->listener.port(); }

void Server::refuse_new() {
  impl_->state->refuse_new();
  for (const auto& connection : impl_->state->connections()) connection->close_if_idle();
}

std::size_t Server::drain(std::chrono::milliseconds deadline) {
  refuse_new();
  return impl_->state->wait_until_idle(deadline);
}

void Server::stop() {
  if (!std::exchange(impl_->running, false)) return;
  refuse_new();
  impl_->state->stop_accepting();
  for (const auto& connection : impl_->state->connections()) connection->cut();
  impl_->state->wait_empty(kDisconnectDeadline);  // Pistache closes each and calls on_disconnected
  impl_->state->aux_thread.stop();
  impl_->listener.stop();
  // A connection that was accepted meanwhile has no thread left.
  for (const auto& connection : impl_->state->connections()) connection->on_disconnected();
}

Stats Server::stats() const {
  const ServerState::Counters& counters = impl_->state->counters;
  Stats stats;
  stats.connections_open = counters.connections_open;
  stats.connections_total = counters.connections_total;
  stats.requests_total = counters.requests_total;
  stats.in_flight = impl_->state->in_flight();
  stats.client_gone_total = counters.client_gone_total;
  stats.timeouts_total = counters.timeouts_total;
  stats.bad_requests_total = counters.bad_requests_total;
  stats.refused_total = counters.refused_total;
  stats.evicted_total = counters.evicted_total;
  return stats;
}

}  // namespace millrace::front
