// The writing half of Connection: implements Responder, and sends the errors that the front end generates.
#include <array>
#include <charconv>
#include <utility>

#include <sys/socket.h>

#include "api/front/connection.h"
#include "api/front/output.h"

namespace millrace::front {

bool Connection::is_current(std::uint64_t sequence) const {
  return open_ && phase_ == Phase::kBusy && sequence_ == sequence;
}

ConnectionHeader Connection::connection_header() const {
  if (!keep_alive_) return ConnectionHeader::kClose;
  return http10_ ? ConnectionHeader::kKeepAlive : ConnectionHeader::kNone;
}

bool Connection::send(std::uint64_t sequence, Reply reply) {
  DeferredDestroy deferred;
  const Lock lock(mutex_);
  if (!is_current(sequence) || streaming_) return false;
  complete(deferred);
  put_reply(std::move(reply), deferred);
  state_->end_request();
  return open_;
}

// The application has completed this reply; no further callbacks run.
void Connection::complete(DeferredDestroy& deferred) {
  release(deferred);
  if (deferred.drained) state_->aux_thread.post(std::exchange(deferred.drained, nullptr));
}

// Writes a complete reply; `keep_alive_` decides what follows.
void Connection::put_reply(Reply reply, DeferredDestroy& deferred) {
  if (state_->refusing()) keep_alive_ = false;
  const bool bodiless = is_bodiless(reply.status);
  const BodyFraming framing = bodiless ? BodyFraming::kNone : BodyFraming::kLength;
  std::string head =
      reply_head(reply, framing, reply.body.size(), connection_header(), std::chrono::system_clock::now());
  if (head_only_ || bodiless) reply.body.clear();
  reply_reservation_ = std::move(reply.reservation);
  phase_ = keep_alive_ ? Phase::kFlushing : Phase::kClosing;
  if (Cork* const cork = Cork::current()) {
    output_.defer(std::move(head), std::move(reply.body));
    count_output();
    return cork->defer(shared_from_this());
  }
  after_output(output_.send(fd_, std::move(head), std::move(reply.body)), deferred);
}

void Connection::flush_held() {
  DeferredDestroy deferred;
  const Lock lock(mutex_);
  if (open_ && !output_.empty()) after_output(output_.flush(fd_), deferred);
}

BodyFraming Connection::stream_framing(int status, bool has_length) const {
  if (is_bodiless(status)) return BodyFraming::kNone;
  if (has_length) return BodyFraming::kLength;
  return http10_ ? BodyFraming::kUntilClose : BodyFraming::kChunked;
}

bool Connection::start_stream(std::uint64_t sequence, const Reply& head, std::optional<std::uint64_t> length,
                              std::string_view first) {
  DeferredDestroy deferred;
  const Lock lock(mutex_);
  if (!is_current(sequence) || streaming_) return false;
  streaming_ = true;
  reply_reservation_ = head.reservation;
  framing_ = stream_framing(head.status, length.has_value());
  unwritten_ = length.value_or(0);
  discard_stream_ = head_only_ || framing_ == BodyFraming::kNone;
  if (state_->refusing() || framing_ == BodyFraming::kUntilClose) keep_alive_ = false;
  std::string text =
      reply_head(head, framing_, unwritten_, connection_header(), std::chrono::system_clock::now());
  const bool alone = discard_stream_ || first.empty();
  after_output(alone ? output_.send(fd_, std::move(text), {}) : send_piece(first, text), deferred);
  return open_;
}

bool Connection::write(std::uint64_t sequence, std::string_view bytes) {
  DeferredDestroy deferred;
  const Lock lock(mutex_);
  if (!is_current(sequence) || !streaming_) return false;
  if (discard_stream_ || bytes.empty()) return true;
  if (framing_ == BodyFraming::kLength && bytes.size() > unwritten_) {
    close_connection(deferred);
    return false;
  }
  if (is_too_slow_for(bytes)) {
    mark_disconnected(deferred);
    return false;
  }
  after_output(send_piece(bytes), deferred);
  return open_;
}

bool Connection::is_too_slow_for(std::string_view bytes) const {
  return output_.bytes() + bytes.size() > state_->limits.stream_backlog_max;
}

// Sends a piece of the stream with its framing; `before` and `behind` are sent unchanged.
Output::State Connection::send_piece(std::string_view bytes, std::string_view before,
                                     std::string_view behind) {
  if (framing_ != BodyFraming::kChunked || bytes.empty()) {
    unwritten_ -= framing_ == BodyFraming::kLength ? bytes.size() : 0;
    const std::array<std::string_view, 3> plain = {before, bytes, behind};
    return output_.send(fd_, plain);
  }
  std::array<char, 20> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), bytes.size(), 16);
  const std::string_view size(digits.data(), static_cast<std::size_t>(end - digits.data()));
  const std::array<std::string_view, 6> framed = {before, size, "\r\n", bytes, "\r\n", behind};
  return output_.send(fd_, framed);
}

bool Connection::end(std::uint64_t sequence, std::string_view last) {
  DeferredDestroy deferred;
  const Lock lock(mutex_);
  if (!is_current(sequence) || !streaming_) return false;
  if (framing_ == BodyFraming::kLength && !discard_stream_ && unwritten_ != last.size()) {
    close_connection(deferred);
    return false;
  }
  if (!last.empty() && !discard_stream_ && is_too_slow_for(last)) {
    mark_disconnected(deferred);
    return false;
  }
  constexpr std::string_view kLastChunk = "0\r\n\r\n";
  const std::string_view mark = framing_ == BodyFraming::kChunked ? kLastChunk : std::string_view();
  complete(deferred);
  phase_ = keep_alive_ ? Phase::kFlushing : Phase::kClosing;
  const bool says = !discard_stream_ && !(last.empty() && mark.empty());
  after_output(says ? send_piece(last, {}, mark) : output_.flush(fd_), deferred);
  state_->end_request();
  return open_;
}

bool Connection::abort(std::uint64_t sequence) {
  DeferredDestroy deferred;
  const Lock lock(mutex_);
  if (!is_current(sequence)) return false;
  close_connection(deferred);
  return true;
}

bool Connection::cancel(std::uint64_t sequence, std::optional<Reply> reply) {
  DeferredDestroy deferred;
  const Lock lock(mutex_);
  if (!open_ || sequence_ != sequence) return false;
  const bool is_sending = phase_ == Phase::kFlushing || phase_ == Phase::kClosing;
  if (!is_sending && phase_ != Phase::kBusy) return false;
  if (is_sending || streaming_ || !reply) {
    mark_disconnected(deferred);
    return true;
  }
  notify_gone();
  keep_alive_ = false;
  complete(deferred);
  put_reply(*std::move(reply), deferred);
  state_->end_request();
  return true;
}

bool Connection::alive(std::uint64_t sequence) {
  const Lock lock(mutex_);
  return is_current(sequence);
}

std::size_t Connection::backlog(std::uint64_t sequence) {
  const Lock lock(mutex_);
  return is_current(sequence) ? output_.bytes() : 0;
}

void Connection::on_gone(std::uint64_t sequence, std::function<void()> f) {
  const Lock lock(mutex_);
  if (is_current(sequence)) {
    gone_.swap(f);
  } else if (disconnected_ && sequence_ == sequence) {
    state_->aux_thread.post(std::move(f));
  }
}

void Connection::on_drained(std::uint64_t sequence, std::size_t low_water, std::function<void()> f) {
  const Lock lock(mutex_);
  if (!is_current(sequence) || output_.bytes() <= low_water) return state_->aux_thread.post(std::move(f));
  low_water_ = low_water;
  drained_.swap(f);
}

void Connection::on_writable() {
  DeferredDestroy deferred;
  const Lock lock(mutex_);
  if (!open_ || output_.empty()) return;
  last_output_ = Clock::now();
  after_output(output_.flush(fd_), deferred);
}

void Connection::after_output(Output::State state, DeferredDestroy& deferred) {
  switch (state) {
    case Output::State::kBroken:
      return mark_disconnected(deferred);
    case Output::State::kBlocked:
      state_->aux_thread.arm(fd_, id_, armed_);
      break;
    case Output::State::kEmpty:
      if (phase_ != Phase::kBusy) deferred.reply_reservation.swap(reply_reservation_);  // a stream goes on
      on_output_sent();
      break;
  }
  count_output();
  if (drained_ && output_.bytes() <= low_water_) state_->aux_thread.post(std::exchange(drained_, nullptr));
}

// All output has been sent: decides what follows a complete reply.
void Connection::on_output_sent() {
  const bool last = phase_ == Phase::kFlushing && state_->refusing() && in_.empty();
  if (phase_ == Phase::kClosing || last) {
    ::shutdown(fd_, SHUT_WR);
    phase_ = Phase::kDiscarding;
    started_ = Clock::now();
    return;
  }
  if (phase_ != Phase::kFlushing) return;
  phase_ = Phase::kHead;
  started_ = Clock::now();
  if (in_.empty() || std::exchange(queued_, true)) return;
  state_->aux_thread.post([self = shared_from_this()] { self->on_buffered_input(); });
}

void Connection::count_output() {
  if (output_counted_ == !output_.empty()) return;
  output_counted_ = !output_counted_;
  if (output_counted_) {
    last_output_ = Clock::now();
    state_->add_unsent();
  } else {
    state_->remove_unsent();
  }
}

// Sends an error that the front end generates. It is the last response on this connection.
void Connection::fail(Lock& lock, int status, std::string_view message) {
  DeferredDestroy deferred;
  phase_ = Phase::kRefusing;
  keep_alive_ = false;
  read_pause_.end();
  head_only_ = incoming_.head.method == "HEAD";
  release(deferred);
  const Head head = std::move(incoming_.head);
  incoming_ = {};
  lock.unlock();
  deferred = {};
  if (status != 503 && status != 408) ++state_->counters.bad_requests_total;
  Reply reply = state_->application.error_reply(status, message, head);
  lock.lock();
  if (open_) put_reply(std::move(reply), deferred);
}

void Connection::refuse() {
  Lock lock(mutex_);
  ++state_->counters.refused_total;
  fail(lock, 503, "The server has too many connections; retry.");
}

}  // namespace millrace::front
