#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/front/chunked.h"
#include "api/front/exchange.h"
#include "api/front/framing.h"
#include "api/front/output.h"
#include "api/front/read_pause.h"
#include "api/front/reply_head.h"
#include "api/front/server_state.h"

namespace millrace::front {

// One client's connection: reads requests, writes replies, enforces limits. One mutex guards all members; the
// application is never called under it. Pistache owns the fd. It is used only under the mutex while `open_`.
// Pistache closes it only after `on_disconnected` has returned, so no byte can go to another connection that
// reuses the fd number.
//
// One request at a time. Further input is buffered here (bounded) until the reply has been sent. Then the aux
// thread reads it. The thread that sends a reply therefore never runs the next request.
//
// How a connection ends:
//   refuse              503 without a request, then closes (no capacity)
//   fail                an error reply, then closes
//   close_if_idle       closes between two requests
//   evict               closes to admit another connection
//   abort               the application ends a streamed reply early: cuts
//   cancel              the application ends a request for its handler: an error reply or cuts
//   cut                 closes at once, unsent output is lost
//   drop                as `cut`, but only shuts down the socket, for failures that could also occur in `cut`
//   on_disconnected     Pistache reports that the client is gone
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  // `rearm_read`: makes Pistache read the fd again.
  Connection(std::shared_ptr<ServerState> state, std::uint64_t id, int fd, std::string peer,
             std::function<void()> rearm_read);

  // Pistache thread.
  void on_input(std::string_view bytes);
  void on_disconnected();
  // Sends 503 without waiting for a request, and closes.
  void refuse();

  // Aux thread.
  void on_writable();
  void on_tick(Clock::time_point now);

  // Any thread.
  void close_if_idle();
  // Closes the connection to admit another one: between two requests, or in any state but a running request
  // if it has never sent a valid key. False: it stays open, or is closed already and no longer counted.
  bool evict();
  // Since when the connection has been between two requests. nullopt: it is not, or has never sent a valid
  // key.
  std::optional<Clock::time_point> idle_since();
  void cut();
  // Only shuts down the client's socket. Pistache then reports the disconnection, which does the work of
  // `cut`. For failures that could also occur in `cut`.
  void drop() noexcept;

  // Implementation of Responder; see exchange.h.
  bool send(std::uint64_t sequence, Reply reply);
  bool start_stream(std::uint64_t sequence, const Reply& head, std::optional<std::uint64_t> length,
                    std::string_view first);
  bool write(std::uint64_t sequence, std::string_view bytes);
  bool end(std::uint64_t sequence, std::string_view last);
  bool abort(std::uint64_t sequence);
  bool cancel(std::uint64_t sequence, std::optional<Reply> reply);
  bool alive(std::uint64_t sequence);
  std::size_t backlog(std::uint64_t sequence);
  void on_gone(std::uint64_t sequence, std::function<void()> f);
  void on_drained(std::uint64_t sequence, std::size_t low_water, std::function<void()> f);

  // Implementation of Cork: sends the held replies.
  void flush_held();

 private:
  using Lock = std::unique_lock<std::mutex>;

  enum class Phase {
    kHead,        // between requests, or inside a head
    kBody,        // admitted; the body is being received
    kBusy,        // the application has the request
    kFlushing,    // the reply is complete but not all of it is in the kernel
    kRefusing,    // an error reply is being built; input is ignored
    kClosing,     // the last reply is complete but not all of it is in the kernel
    kDiscarding,  // the last reply was sent; input is dropped until the client closes or `linger` is over
  };

  // Members that must be destroyed without the mutex, because their destructors call the application.
  struct DeferredDestroy {
    std::string body;
    std::shared_ptr<BodySink> sink;
    std::shared_ptr<void> request_state, reply_reservation;
    std::function<void()> gone, drained;
  };

  // connection_input.cpp. These functions do not throw; a failure closes the connection. `read` and the
  // functions that it calls run on one thread at a time (`reading_`). They may release the lock to call the
  // application.
  void on_buffered_input();
  void process_input(std::string_view bytes);
  void process_buffered_input();
  void close_after_exception(const char* what);
  void buffer_input(std::string_view bytes, DeferredDestroy& deferred);
  void read_and_run(Lock& lock, std::string_view bytes);
  std::optional<Request> read(Lock& lock, std::string_view bytes);
  std::optional<Request> consume(Lock& lock, std::string_view bytes);
  bool read_head(Lock& lock, std::string_view& bytes);
  void parse_oversized_head(std::string_view text);
  bool begin_request(Lock& lock, std::string_view text, bool more_bytes);
  bool refuse_while_draining(Lock& lock);
  bool admit(Lock& lock, bool more_bytes);
  std::optional<Request> take_request(Lock& lock);
  bool needs_input() const { return phase_ == Phase::kHead || phase_ == Phase::kBody; }

  bool begin_body(Lock& lock, Admit granted, bool more_bytes);
  void send_continue(Lock& lock);
  bool read_body(Lock& lock, std::string_view& bytes);
  bool read_declared(Lock& lock, std::string_view& bytes);
  bool read_chunks(Lock& lock, std::string_view& bytes);
  bool write_to_sink(Lock& lock, std::string_view piece, bool whole);
  bool may_grow_to(std::uint64_t bytes);
  void discard_rest();
  void pause_reading();
  void resume_reading();
  std::uint64_t received() const { return sink_bytes_ + body_.size(); }

  static constexpr std::string_view kRevoked = "The API key was revoked or has expired.";

  // connection_output.cpp
  void fail(Lock& lock, int status, std::string_view message);
  void put_reply(Reply reply, DeferredDestroy& deferred);
  void complete(DeferredDestroy& deferred);
  void after_output(Output::State state, DeferredDestroy& deferred);
  void on_output_sent();
  void count_output();
  BodyFraming stream_framing(int status, bool has_length) const;
  bool is_too_slow_for(std::string_view bytes) const;
  Output::State send_piece(std::string_view bytes, std::string_view before = {},
                           std::string_view behind = {});
  ConnectionHeader connection_header() const;
  bool is_current(std::uint64_t sequence) const;

  // connection.cpp
  void mark_disconnected(DeferredDestroy& deferred);
  void notify_gone();
  bool is_revoked() const { return phase_ == Phase::kBody && revoked_ != nullptr && *revoked_; }
  void close_connection(DeferredDestroy& deferred);
  void release(DeferredDestroy& deferred);
  bool is_idle() const { return phase_ == Phase::kHead && in_.empty() && !reading_; }
  bool uncount();
  std::optional<std::string_view> overdue(Clock::time_point now) const;
  bool is_stuck(Clock::time_point now) const;

  const std::shared_ptr<ServerState> state_;
  const std::uint64_t id_;
  const int fd_;
  const std::string peer_;
  const bool from_proxy_;

  std::mutex mutex_;
  bool open_ = true;            // false: `fd_` must not be used
  bool counted_ = true;         // in Counters::connections_open
  bool authenticated_ = false;  // has sent a request with a valid key
  bool had_head_ = false;       // has sent a complete head
  Phase phase_ = Phase::kHead;

  // Reading.
  bool reading_ = false;      // a thread is in `read`; others only add to `in_`
  bool input_added_ = false;  // others have added to `in_`
  bool queued_ = false;       // the aux thread will process `in_`
  std::string in_;            // part of a head, or bytes after a pending request
  std::size_t scanned_ = 0;
  CheckedHead incoming_;
  std::string body_;
  std::shared_ptr<BodySink> sink_;  // receives the body instead of `body_`
  BodyMeter* meter_ = nullptr;      // belongs to `request_state_`
  std::uint64_t sink_bytes_ = 0;    // bytes passed to the sink
  std::atomic<bool> pause_requested_{false};
  ReadPause read_pause_;
  Clock::time_point paused_since_;
  std::shared_ptr<void> request_state_;
  const std::atomic<bool>* revoked_ = nullptr;  // Admit::revoked; only in phase kBody
  std::unique_ptr<ChunkedDecoder> chunked_;
  bool skip_body_ = false;       // input is discarded until the reply has been sent
  bool while_draining_ = false;  // this request is accepted even while draining
  Clock::time_point started_;    // start of this head, then of this body; between requests, of the idle time
  Clock::time_point last_input_;

  // Replying.
  std::uint64_t sequence_ = 0;
  bool keep_alive_ = true;
  bool http10_ = false;
  bool head_only_ = false;  // HEAD
  bool streaming_ = false;
  BodyFraming framing_ = BodyFraming::kNone;  // of the streamed reply
  std::uint64_t unwritten_ = 0;               // kLength: declared bytes that are not written yet
  bool discard_stream_ = false;               // the stream's bytes are not sent (HEAD, 204)
  bool disconnected_ = false;                 // the client disconnected before reply `sequence_` was complete
  Output output_;
  std::shared_ptr<void> reply_reservation_;  // Reply::reservation of the reply in `output_`
  bool output_counted_ = false;
  bool armed_ = false;
  std::size_t low_water_ = 0;
  std::function<void()> gone_, drained_;
  Clock::time_point last_output_;
};

}  // namespace millrace::front
