#include "api/front/connection.h"

#include <algorithm>
#include <utility>

#include <sys/socket.h>

namespace millrace::front {
namespace {

// Closes with RST instead of FIN. If the end of the connection delimits the response, the client sees an
// error.
void reset_on_close(int fd) {
  const linger at_once{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::shutdown(fd, SHUT_RD);
}

}  // namespace

Connection::Connection(std::shared_ptr<ServerState> state, std::uint64_t id, int fd, std::string peer,
                       std::function<void()> rearm_read)
    : state_(std::move(state)),
      id_(id),
      fd_(fd),
      peer_(std::move(peer)),
      from_proxy_(state_->is_trusted_proxy(peer_)),
      read_pause_(fd, std::move(rearm_read)),
      started_(Clock::now()) {}

void Connection::on_disconnected() {
  {
    DeferredDestroy deferred;
    const Lock lock(mutex_);
    mark_disconnected(deferred);
    uncount();
  }
  state_->unauthenticated.remove(id_);
  state_->remove(id_);
}

void Connection::cut() {
  DeferredDestroy deferred;
  const Lock lock(mutex_);
  mark_disconnected(deferred);
}

void Connection::drop() noexcept {
  const Lock lock(mutex_);
  if (!open_) return;
  read_pause_.end();
  ::shutdown(fd_, SHUT_RDWR);
}

void Connection::close_if_idle() {
  DeferredDestroy deferred;
  const Lock lock(mutex_);
  if (is_idle()) mark_disconnected(deferred);
}

bool Connection::evict() {
  DeferredDestroy deferred;
  const Lock lock(mutex_);
  const bool may = authenticated_ ? is_idle() : phase_ != Phase::kBusy && !reading_;
  if (open_ && !may) return false;
  mark_disconnected(deferred);
  return uncount();
}

std::optional<Connection::Clock::time_point> Connection::idle_since() {
  const Lock lock(mutex_);
  return authenticated_ && is_idle() ? std::optional(started_) : std::nullopt;
}

// From now on another connection is admitted for it, although Pistache may close the fd later.
bool Connection::uncount() {
  if (!std::exchange(counted_, false)) return false;
  --state_->counters.connections_open;
  return true;
}

// The client has disconnected, or the server disconnects it. A pending request is notified.
void Connection::mark_disconnected(DeferredDestroy& deferred) {
  if (!open_) return;
  if (phase_ == Phase::kBusy) {
    ++state_->counters.client_gone_total;
    notify_gone();
  }
  close_connection(deferred);
}

void Connection::notify_gone() {
  disconnected_ = true;
  if (gone_) state_->aux_thread.post(std::exchange(gone_, nullptr));
}

// The fd is not used after this. Pistache detects the shutdown and closes it.
void Connection::close_connection(DeferredDestroy& deferred) {
  if (!open_) return;
  open_ = false;
  read_pause_.end();
  if (phase_ == Phase::kBusy) state_->end_request();
  if (streaming_ && framing_ == BodyFraming::kUntilClose && phase_ == Phase::kBusy) {
    reset_on_close(fd_);
  } else {
    ::shutdown(fd_, SHUT_RDWR);
  }
  if (drained_) state_->aux_thread.post(std::exchange(drained_, nullptr));
  output_.clear();
  deferred.reply_reservation.swap(reply_reservation_);
  count_output();
  release(deferred);
}

void Connection::release(DeferredDestroy& deferred) {
  deferred.body.swap(body_);
  deferred.sink.swap(sink_);
  deferred.request_state.swap(request_state_);
  meter_ = nullptr;
  deferred.gone.swap(gone_);
  deferred.drained.swap(drained_);
}

void Connection::on_tick(Clock::time_point now) {
  DeferredDestroy deferred;
  Lock lock(mutex_);
  if (!open_ || reading_) return;
  if (is_revoked()) return fail(lock, 401, kRevoked);
  if (is_stuck(now)) {
    if (phase_ != Phase::kDiscarding) ++state_->counters.timeouts_total;
    mark_disconnected(deferred);
    return;
  }
  if (const auto message = overdue(now)) {
    ++state_->counters.timeouts_total;
    fail(lock, 408, *message);
  }
}

// True: the client is too slow or idle for too long; the connection is closed without a response.
bool Connection::is_stuck(Clock::time_point now) const {
  const Limits& limits = state_->limits;
  if (!output_.empty() && now - last_output_ > limits.write_stall_timeout) return true;
  if (phase_ == Phase::kDiscarding) return now - started_ > limits.linger;
  const auto idle_max = had_head_ ? limits.idle_timeout : std::min(limits.head_timeout, limits.idle_timeout);
  return phase_ == Phase::kHead && in_.empty() && now - started_ > idle_max;
}

// The error message if a request that is still being read is too slow.
std::optional<std::string_view> Connection::overdue(Clock::time_point now) const {
  const Limits& limits = state_->limits;
  if (phase_ == Phase::kHead && !in_.empty() && !queued_ && now - started_ > limits.head_timeout) {
    return "The request head took too long.";
  }
  if (phase_ != Phase::kBody || read_pause_.stopped()) return std::nullopt;
  if (now - last_input_ > limits.body_stall_timeout) return "The request body stopped arriving.";
  const auto elapsed = now - started_;
  if (elapsed > limits.body_timeout) return "The request body took too long (http.body_timeout).";
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const double part = seconds / std::chrono::duration<double>(limits.body_timeout).count();
  const double expected = std::max(static_cast<double>(limits.body_bytes_per_second_min) * seconds,
                                   static_cast<double>(incoming_.head.content_length.value_or(0)) * part);
  if (elapsed > limits.body_stall_timeout && static_cast<double>(received()) < expected)
    return "The request body arrived too slowly (http.body_timeout).";
  return std::nullopt;
}

}  // namespace millrace::front
