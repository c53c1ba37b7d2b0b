#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/admission/auth.h"
#include "api/admission/byte_budget.h"
#include "api/admission/cors.h"
#include "api/admission/http_metrics.h"
#include "api/admission/keyed_semaphore.h"
#include "api/admission/live_calls.h"
#include "api/admission/minute_rate.h"
#include "api/admission/upload.h"
#include "api/front/exchange.h"
#include "api/reply.h"
#include "api/routing/route.h"
#include "schemas/error_body.h"
#include "storage/batches/batch_line.h"

namespace millrace::api {

// A stream pauses when this many bytes are unsent, and resumes when the backlog has shrunk to kBacklogResume.
inline constexpr std::size_t kBacklogPause = 256 * 1024;
inline constexpr std::size_t kBacklogResume = 64 * 1024;

// One request, from the guard to the end of its handler. It is created when the head is read, and the front
// end keeps it as the request's state. It sends exactly one response, which carries x-request-id and is
// counted and logged. If it is destroyed without a response, it sends 500. `reply` and the functions based on
// it are thread-safe; the rest may be used only by the thread that runs the request.
class Call : public std::enable_shared_from_this<Call>, public front::BodyMeter {
 public:
  Call(const front::Head& head, HttpMetrics& metrics);
  ~Call() override;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Set by the guard when the head is read.
  const Route* route = nullptr;
  std::vector<std::string> params;
  std::string canonical_path;  // with the machine's id in place of its name; empty: head().path
  PrincipalPtr principal;      // null on open routes; set before the call is added to LiveCalls
  bool key_unknown = false;
  Cors::Answer cors;
  std::unique_ptr<front::Reply> refusal;  // the error of a request without a body; sent when the request runs
  std::shared_ptr<ByteBudget::Share> address_share;  // of `budget`, without a known key
  ByteBudget::Reservation budget;
  bool body_skipped = false;  // not all of it was accepted: the budget is exhausted
  // Sent with every response: the requests and the tokens that a limit leaves.
  std::optional<MinuteRate::Count> rate, token_rate;
  // Names of parameters and headers that the route ignores; sent as x-millrace-dropped-params.
  std::vector<std::string> ignored;
  std::int64_t tokens_charged = 0;         // TokenLimits
  KeyedSemaphore::Permit permit;           // of its tenant
  std::shared_ptr<KeyLookUp> key_look_up;  // of a form with an unknown key
  std::shared_ptr<Upload> upload;          // receives the body of a form; null: not a form
  // Set: the gateway makes this request for a line of a batch. The body is JSON, of a form, too.
  std::optional<storage::BatchLineRef> batch_line;

  LiveCalls::Links links;  // used by LiveCalls

  // The body has so many bytes: takes them from `budget`, or sets `body_skipped`.
  bool grow(std::uint64_t bytes) override;
  // The whole request has arrived.
  void begin(front::Request request, front::Responder responder);
  bool begun() const { return begun_; }

  const front::Head& head() const { return request_.head; }
  std::string& body() { return request_.body; }
  const std::string& tenant() const { return principal->tenant; }
  const std::string& request_id() const { return request_id_; }
  // Releases the body or upload and its part of the byte budget while the request still waits.
  void drop_body();
  // Releases the request's headers and query, which are not needed once the response has begun.
  void drop_headers();
  // From now on the response carries x-millrace-job.
  void set_job_id(std::string job_id);  // thread-safe
  std::string job_id();                 // empty: it created none. Thread-safe
  // Adds the requested model to the log line. Thread-safe.
  void set_model(std::string model);

  void reply(front::Reply reply);
  void fail(const base::Error& error, const schemas::Problems& problems = {});
  void fail(const base::Error& error, front::Reply prepared_reply);  // in a response with additional content
  // The key no longer allows this request. Sends 401 if nothing was sent yet, otherwise cuts the connection.
  // For the handler the client has disconnected. Thread-safe.
  void revoke();
  const std::atomic<bool>& revoked() const { return revoked_; }
  void refuse(const schemas::Refusal& why) { fail(why.error, why.problems); }
  // Begins a streamed response; write its pieces to `responder()`. `length`: see front::Responder. False: the
  // client has disconnected.
  bool start_stream(front::Reply head, std::optional<std::uint64_t> length = std::nullopt);
  bool start_stream(front::Reply head, std::string_view first);  // with the first piece, if there is one
  const front::Responder& responder() const { return responder_; }
  // Runs `f` once if the client disconnects before the response is complete.
  void on_gone(std::function<void()> f) const { responder_.on_gone(std::move(f)); }

  // Completes an error response that the front end sends itself, before the request has begun.
  front::Reply with_common_headers(const front::Head& head, front::Reply reply);

 private:
  bool claim_reply() { return !answered_.exchange(true); }
  void stay_live(front::Reply& reply);
  void add_ignored_header(front::Reply& reply) const;
  struct LogFields {
    std::string job_id, model;
    std::string_view cause;
  };
  LogFields log_fields();
  void log_request(const front::Head& head, int status, const LogFields& log_fields);

  HttpMetrics& metrics_;
  std::string request_id_;
  std::mutex job_mutex_;  // guards the next three
  std::string job_id_, model_;
  std::string_view cause_;  // the code of the error in the response
  front::Request request_;
  front::Responder responder_;
  std::chrono::steady_clock::time_point arrived_;
  std::atomic<bool> begun_{false};
  std::atomic<bool> answered_{false};
  std::atomic<bool> revoked_{false};
};

}  // namespace millrace::api
