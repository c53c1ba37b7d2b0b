#include "api/front/connection.h"

#include <span>
#include <utility>

#include <sys/socket.h>

#include "platform/base/bytes.h"

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
                       std::function<void()> read_again)
    : state_(std::move(state)),
      id_(id),
      fd_(fd),
      peer_(std::move(peer)),
      read_pause_(fd, std::move(read_again)),
      started_(Clock::now()) {}

void Connection::on_disconnected() {
  {
    DeferredDestroy deferred;
    const Lock lock(mutex_);
    mark_disconnected(deferred);
  }
  --state_->counters.connections_open;
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
  if (phase_ == Phase::kHead && in_.empty() && !reading_) mark_disconnected(deferred);
}

// The client has disconnected, or the server disconnects it. A pending request is notified.
void Connection::mark_disconnected(DeferredDestroy& deferred) {
  if (!open_) return;
  if (phase_ == Phase::kBusy) {
    disconnected_ = true;
    ++state_->counters.client_gone_total;
    if (gone_) state_->aux_thread.post(std::exchange(gone_, nullptr));
  }
  close_connection(deferred);
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
  deferred.gone.swap(gone_);
  deferred.drained.swap(drained_);
}

void Connection::on_tick(Clock::time_point now) {
  DeferredDestroy deferred;
  Lock lock(mutex_);
  if (!open_ || reading_) return;
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
  return phase_ == Phase::kHead && in_.empty() && now - started_ > limits.idle_timeout;
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
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const bool too_slow =
      static_cast<double>(received()) < static_cast<double>(limits.body_bytes_per_second_min) * seconds;
  if (elapsed > limits.body_stall_timeout && too_slow) return "The request body arrived too slowly.";
  return std::nullopt;
}

// Request bodies: collected in memory, or passed to a sink.

namespace {

std::string too_large(std::size_t body_max) {
  return "The body is larger than " + base::format_bytes(static_cast<std::int64_t>(body_max)) +
         ", the limit of this path";
}

}  // namespace

bool Connection::begin_body(Lock& lock, Admit granted, bool more_bytes) {
  const auto length = incoming_.head.content_length.value_or(0);
  request_state_ = std::move(granted.request_state);
  sink_ = std::move(granted.sink);
  sink_bytes_ = 0;
  pause_requested_ = false;
  while_draining_ = granted.while_draining;
  if (state_->refusing() && !while_draining_) return refuse_while_draining(lock);
  skip_body_ = granted.skip_body && incoming_.has_body();
  if (skip_body_) {
    keep_alive_ = false;  // discarded bytes cannot be distinguished from the next request
    phase_ = Phase::kBody;
    return true;
  }
  if (length > granted.body_max) {
    fail(lock, 413, too_large(granted.body_max));
    return false;
  }
  phase_ = Phase::kBody;
  started_ = last_input_;
  if (incoming_.head.chunked) {
    chunked_ = std::make_unique<ChunkedDecoder>(granted.body_max);
  } else if (!sink_) {
    body_.reserve(static_cast<std::size_t>(length) + kBodyPadding);
  }
  if (incoming_.expect_continue && incoming_.has_body() && !more_bytes) send_continue(lock);
  return open_;
}

void Connection::send_continue(Lock& lock) {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  DeferredDestroy deferred;
  after_output(output_.send(fd_, std::span(&kContinue, 1)), deferred);
  lock.unlock();
  deferred = {};
  lock.lock();
}

// True: the body is complete, or the rest of it is not needed.
bool Connection::read_body(Lock& lock, std::string_view& bytes) {
  if (skip_body_) {
    bytes = {};
    return true;
  }
  const bool whole = incoming_.head.chunked ? read_chunks(lock, bytes) : read_declared(lock, bytes);
  if (skip_body_) bytes = {};
  return open_ && (whole || skip_body_);
}

bool Connection::read_declared(Lock& lock, std::string_view& bytes) {
  const auto missing = static_cast<std::size_t>(incoming_.head.content_length.value_or(0) - received());
  const std::string_view piece = bytes.substr(0, missing);
  bytes.remove_prefix(piece.size());
  if (sink_) return write_to_sink(lock, piece, piece.size() == missing);
  body_.append(piece);
  return piece.size() == missing;
}

bool Connection::read_chunks(Lock& lock, std::string_view& bytes) {
  const ChunkedDecoder::State state = chunked_->feed(bytes, body_);
  const bool whole = state == ChunkedDecoder::State::kDone;
  switch (state) {
    case ChunkedDecoder::State::kMore:
    case ChunkedDecoder::State::kDone:
      return sink_ ? write_to_sink(lock, std::exchange(body_, {}), whole) : whole;
    case ChunkedDecoder::State::kMalformed:
      fail(lock, 400, "The chunked body is malformed.");
      return false;
    case ChunkedDecoder::State::kTooLarge:
      fail(lock, 413, too_large(chunked_->body_max()));
      return false;
  }
  return false;
}

// Passes a piece of the body to the sink. The connection may drop the sink during the call. Returns `whole`.
bool Connection::write_to_sink(Lock& lock, std::string_view piece, bool whole) {
  if (piece.empty()) return whole;
  sink_bytes_ += piece.size();
  std::shared_ptr<BodySink> sink = sink_;
  lock.unlock();
  const BodySink::Flow flow = sink->take(piece);
  sink = nullptr;
  lock.lock();
  if (flow == BodySink::Flow::kPause) pause_requested_ = true;
  if (flow == BodySink::Flow::kDiscardRest && !whole) {
    skip_body_ = true;
    keep_alive_ = false;  // discarded bytes cannot be distinguished from the next request
  }
  return whole;
}

// Stops reading because the sink is full. Runs on Pistache's thread between two pieces, so none is in flight.
void Connection::pause_reading() {
  std::shared_ptr<BodySink> sink;
  {
    const Lock lock(mutex_);
    pause_requested_ = false;
    // Another thread may be inside `read`. Then do not pause now: if its next piece fills the sink again, it
    // requests the pause again.
    if (!open_ || phase_ != Phase::kBody || !sink_ || reading_ || !output_.empty()) return;
    if (read_pause_.stopped() || !read_pause_.stop(state_->never_readable)) return;
    paused_since_ = Clock::now();
    sink = sink_;
  }
  sink->on_capacity([state = state_, self = weak_from_this()] {
    state->aux_thread.post([self] {
      if (const auto connection = self.lock()) connection->resume_reading();
    });
  });
}

// Time during which we paused reading does not count against the client.
void Connection::resume_reading() {
  const Lock lock(mutex_);
  if (!open_ || !read_pause_.stopped()) return;
  last_input_ = Clock::now();
  started_ += last_input_ - paused_since_;
  read_pause_.end();
}

}  // namespace millrace::front
