// The reading half of Connection: parses input into requests.
#include <exception>
#include <span>
#include <utility>

#include "api/front/connection.h"
#include "api/front/forwarded.h"
#include "platform/base/bytes.h"
#include "platform/base/log.h"

namespace millrace::front {

void Connection::on_input(std::string_view bytes) {
  try {
    process_input(bytes);
    if (pause_requested_) pause_reading();
  } catch (const std::exception& e) {
    close_after_exception(e.what());
  }
}

void Connection::on_buffered_input() {
  try {
    process_buffered_input();
  } catch (const std::exception& e) {
    close_after_exception(e.what());
  }
}

void Connection::close_after_exception(const char* what) {
  base::log_error("front_connection_failed", {{"error", what}});
  cut();
}

void Connection::process_input(std::string_view bytes) {
  DeferredDestroy deferred;
  Lock lock(mutex_);
  if (!open_) return;
  last_input_ = Clock::now();
  if (phase_ == Phase::kBusy || phase_ == Phase::kFlushing || queued_ || reading_)
    return buffer_input(bytes, deferred);
  if (needs_input()) read_and_run(lock, bytes);
}

void Connection::buffer_input(std::string_view bytes, DeferredDestroy& deferred) {
  if (!needs_input() && phase_ != Phase::kBusy && phase_ != Phase::kFlushing) return;
  if (skip_body_) return;
  if (in_.size() + bytes.size() > state_->limits.pipelined_bytes_max) return mark_disconnected(deferred);
  in_.append(bytes);
  input_added_ = true;
}

void Connection::process_buffered_input() {
  Lock lock(mutex_);
  if (!std::exchange(queued_, false) || !open_ || phase_ != Phase::kHead) return;
  last_input_ = Clock::now();
  read_and_run(lock, {});
}

void Connection::read_and_run(Lock& lock, std::string_view bytes) {
  std::optional<Request> request = read(lock, bytes);
  if (!request) return;
  Responder responder(shared_from_this(), sequence_);
  lock.unlock();
  state_->application.run(std::move(*request), std::move(responder));
}

// Reads up to the end of one request. Bytes after it stay in `in_`.
std::optional<Request> Connection::read(Lock& lock, std::string_view bytes) {
  reading_ = true;
  input_added_ = false;
  std::string held;
  std::optional<Request> request = consume(lock, bytes);
  while (!request && input_added_ && open_ && phase_ == Phase::kBody) {
    input_added_ = false;
    held = std::exchange(in_, {});
    request = consume(lock, held);
  }
  reading_ = false;
  const bool again = !request && input_added_ && open_ && phase_ == Phase::kHead;
  if (again && !std::exchange(queued_, true)) {
    state_->aux_thread.post([self = shared_from_this()] { self->on_buffered_input(); });
  }
  return request;
}

std::optional<Request> Connection::consume(Lock& lock, std::string_view bytes) {
  std::string held;
  if (phase_ == Phase::kHead && !in_.empty()) {
    in_.append(bytes);
    held = std::exchange(in_, {});
    bytes = held;
  }
  bool going_on = true;
  while (open_ && going_on) {
    switch (phase_) {
      case Phase::kHead:
        going_on = read_head(lock, bytes);
        break;
      case Phase::kBody:
        if (!read_body(lock, bytes)) return std::nullopt;
        in_.insert(0, bytes);
        return take_request(lock);
      case Phase::kFlushing:
        in_.insert(0, bytes);
        return std::nullopt;
      case Phase::kBusy:
      case Phase::kRefusing:
      case Phase::kClosing:
      case Phase::kDiscarding:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

// True: a complete head was read; the phase says what follows. False: more bytes are needed, or the
// connection ends.
bool Connection::read_head(Lock& lock, std::string_view& bytes) {
  const Limits& limits = state_->limits;
  if (const std::size_t empty_lines = leading_empty_lines(bytes)) {
    bytes.remove_prefix(empty_lines);
    scanned_ = 0;
  }
  if (bytes.empty()) return false;
  if (scanned_ == 0 && had_head_) started_ = last_input_;
  const HeadScan scan = scan_head(bytes, scanned_);
  const std::size_t size = scan.state == HeadState::kComplete ? scan.end : bytes.size();
  if (scan.state == HeadState::kMalformed) {
    fail(lock, 400, "The request is not HTTP/1.1.");
    return false;
  }
  if (size > limits.head_bytes_max) {
    parse_oversized_head(bytes.substr(0, limits.head_bytes_max));
    fail(lock, 431, "The request head is too large.");
    return false;
  }
  if (scan.state == HeadState::kIncomplete) {
    in_.insert(0, bytes);
    return false;
  }
  scanned_ = 0;
  had_head_ = true;
  const std::string_view text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return begin_request(lock, text, !bytes.empty());
}

// Parses the readable part of a head that is too large, for the error response.
void Connection::parse_oversized_head(std::string_view text) {
  constexpr std::string_view kLineEnd = "\r\n";
  const std::size_t end = text.rfind(kLineEnd);
  if (end == std::string_view::npos) return;
  incoming_ = {};
  const std::string lines = std::string(text.substr(0, end)).append(kLineEnd).append(kLineEnd);
  static_cast<void>(check_head(lines, state_->limits.headers_max, incoming_));
}

bool Connection::begin_request(Lock& lock, std::string_view text, bool more_bytes) {
  incoming_ = {};
  const std::optional<HeadError> refusal = check_head(text, state_->limits.headers_max, incoming_);
  head_only_ = incoming_.head.method == "HEAD";
  if (refusal) {
    fail(lock, refusal->status, refusal->message);
    return false;
  }
  ++state_->counters.requests_total;
  incoming_.head.from_proxy = from_proxy_;
  incoming_.head.peer =
      from_proxy_ ? forwarded_client(incoming_.head, peer_, state_->trusted_proxies, state_->forwarded_header)
                  : peer_;
  incoming_.head.arrived = last_input_;
  keep_alive_ = incoming_.keep_alive;
  http10_ = incoming_.http10;
  skip_body_ = false;
  return admit(lock, more_bytes);
}

bool Connection::refuse_while_draining(Lock& lock) {
  ++state_->counters.refused_total;
  fail(lock, 503, "The server is shutting down.");
  return false;
}

bool Connection::admit(Lock& lock, bool more_bytes) {
  lock.unlock();
  Admission admission = state_->application.admit(incoming_.head);
  lock.lock();
  if (!open_) {
    lock.unlock();
    admission = Reply{};  // releases what admission reserved
    lock.lock();
    return false;
  }
  if (auto* granted = std::get_if<Admit>(&admission)) {
    if (granted->authenticated && !std::exchange(authenticated_, true)) state_->unauthenticated.remove(id_);
    return begin_body(lock, std::move(*granted), more_bytes);
  }
  // An unread body cannot be distinguished from the next request.
  if (incoming_.has_body()) keep_alive_ = false;
  incoming_ = {};
  DeferredDestroy deferred;  // stays empty: no objects of the application are held yet
  put_reply(std::get<Reply>(std::move(admission)), deferred);
  return true;
}

std::optional<Request> Connection::take_request(Lock& lock) {
  if (!state_->try_begin_request(while_draining_)) {
    refuse_while_draining(lock);
    return std::nullopt;
  }
  read_pause_.end();  // the reply must go to the client's socket
  phase_ = Phase::kBusy;
  ++sequence_;
  streaming_ = discard_stream_ = false;
  Request request{std::move(incoming_.head), std::move(body_), std::move(request_state_), std::move(sink_)};
  incoming_ = {};
  body_ = {};
  request_state_ = nullptr;
  sink_ = nullptr;
  meter_ = nullptr;
  return request;
}

// Request bodies: collected in memory, or passed to a sink.

namespace {

std::string too_large(std::size_t body_max) {
  return "The body is larger than " + base::format_bytes(static_cast<std::int64_t>(body_max)) +
         ", the limit of this path";
}

// The memory of a longer body is reserved when so much of it has arrived.
constexpr std::size_t kReservedAtOnce = 1u << 20;

}  // namespace

bool Connection::begin_body(Lock& lock, Admit granted, bool more_bytes) {
  const auto length = incoming_.head.content_length.value_or(0);
  request_state_ = std::move(granted.request_state);
  revoked_ = granted.revoked;
  sink_ = std::move(granted.sink);
  meter_ = granted.meter;
  sink_bytes_ = 0;
  pause_requested_ = false;
  while_draining_ = granted.while_draining;
  if (state_->refusing() && !while_draining_) return refuse_while_draining(lock);
  skip_body_ = granted.skip_body && incoming_.has_body();
  if (skip_body_) {
    discard_rest();
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
    body_.reserve(std::min(static_cast<std::size_t>(length), kReservedAtOnce) + kBodyPadding);
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
  if (is_revoked()) {
    fail(lock, 401, kRevoked);
    return false;
  }
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
  const bool whole = piece.size() == missing;
  bytes.remove_prefix(piece.size());
  if (!piece.empty() && !may_grow_to(received() + piece.size())) return whole;
  if (sink_) return write_to_sink(lock, piece, whole);
  if (body_.size() + piece.size() + kBodyPadding > body_.capacity())
    body_.reserve(body_.size() + missing + kBodyPadding);
  body_.append(piece);
  return whole;
}

bool Connection::read_chunks(Lock& lock, std::string_view& bytes) {
  const ChunkedDecoder::State state = chunked_->feed(bytes, body_);
  const bool whole = state == ChunkedDecoder::State::kDone;
  switch (state) {
    case ChunkedDecoder::State::kMore:
    case ChunkedDecoder::State::kDone:
      if (!may_grow_to(received())) return whole;
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
  if (flow == BodySink::Flow::kDiscardRest && !whole) discard_rest();
  return whole;
}

// False: the rest of the body is discarded.
bool Connection::may_grow_to(std::uint64_t bytes) {
  if (meter_ == nullptr || meter_->grow(bytes)) return true;
  discard_rest();
  return false;
}

void Connection::discard_rest() {
  skip_body_ = true;
  keep_alive_ = false;  // discarded bytes cannot be distinguished from the next request
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
