#include "api/front/connection.h"

#include <utility>

#include <sys/socket.h>

namespace millrace::front {
namespace {

// An end without FIN: the client of a reply that is delimited by the end of the connection sees a failure.
void reset_on_close(int fd) {
  const linger at_once{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::shutdown(fd, SHUT_RD);
}

}  // namespace

Connection::Connection(std::shared_ptr<Core> core, std::uint64_t id, int fd, std::string peer,
                       std::function<void()> read_again)
    : core_(std::move(core)),
      id_(id),
      fd_(fd),
      peer_(std::move(peer)),
      read_stop_(fd, std::move(read_again)),
      started_(Clock::now()) {}

void Connection::on_disconnected() {
  {
    Remains remains;
    const Lock lock(mutex_);
    lose(remains);
  }
  --core_->counters.connections_open;
  core_->remove(id_);
}

void Connection::cut() {
  Remains remains;
  const Lock lock(mutex_);
  lose(remains);
}

void Connection::drop() noexcept {
  const Lock lock(mutex_);
  if (!open_) return;
  read_stop_.end();
  ::shutdown(fd_, SHUT_RDWR);
}

void Connection::close_if_idle() {
  Remains remains;
  const Lock lock(mutex_);
  if (phase_ == Phase::kHead && in_.empty() && !reading_) lose(remains);
}

// The client has left, or is made to: a pending request is told.
void Connection::lose(Remains& remains) {
  if (!open_) return;
  if (phase_ == Phase::kBusy) {
    lost_ = true;
    ++core_->counters.client_gone_total;
    if (gone_) core_->aux.post(std::exchange(gone_, nullptr));
  }
  shut(remains);
}

// The end of all use of the fd. Pistache sees the shutdown and closes it.
void Connection::shut(Remains& remains) {
  if (!open_) return;
  open_ = false;
  read_stop_.end();
  if (phase_ == Phase::kBusy) core_->request_done();
  if (streaming_ && framing_ == BodyFraming::kUntilClose && phase_ == Phase::kBusy) {
    reset_on_close(fd_);
  } else {
    ::shutdown(fd_, SHUT_RDWR);
  }
  if (drained_) core_->aux.post(std::exchange(drained_, nullptr));
  output_.clear();
  remains.reply_hold.swap(reply_hold_);
  count_output();
  release(remains);
}

void Connection::release(Remains& remains) {
  remains.body.swap(body_);
  remains.sink.swap(sink_);
  remains.hold.swap(hold_);
  remains.gone.swap(gone_);
  remains.drained.swap(drained_);
}

void Connection::on_tick(Clock::time_point now) {
  Remains remains;
  Lock lock(mutex_);
  if (!open_ || reading_) return;
  if (is_stuck(now)) {
    if (phase_ != Phase::kDiscarding) ++core_->counters.timeouts_total;
    lose(remains);
    return;
  }
  if (const auto message = overdue(now)) {
    ++core_->counters.timeouts_total;
    fail(lock, 408, *message);
  }
}

// True: nothing more can be said to this client.
bool Connection::is_stuck(Clock::time_point now) const {
  const Limits& limits = core_->limits;
  if (!output_.empty() && now - last_output_ > limits.write_stall_timeout) return true;
  if (phase_ == Phase::kDiscarding) return now - started_ > limits.linger;
  return phase_ == Phase::kHead && in_.empty() && now - started_ > limits.idle_timeout;
}

// Why a request that is still being read is too slow.
std::optional<std::string_view> Connection::overdue(Clock::time_point now) const {
  const Limits& limits = core_->limits;
  if (phase_ == Phase::kHead && !in_.empty() && !queued_ && now - started_ > limits.head_timeout) {
    return "The request head took too long.";
  }
  if (phase_ != Phase::kBody || read_stop_.stopped()) return std::nullopt;
  if (now - last_input_ > limits.body_stall_timeout) return "The request body stopped coming.";
  const auto elapsed = now - started_;
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const bool too_slow =
      static_cast<double>(received()) < static_cast<double>(limits.body_bytes_per_second_min) * seconds;
  if (elapsed > limits.body_stall_timeout && too_slow) return "The request body came too slowly.";
  return std::nullopt;
}

}  // namespace millrace::front
