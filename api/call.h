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
#include "api/admission/http_metrics.h"
#include "api/admission/job_places.h"
#include "api/admission/request_rate.h"
#include "api/admission/upload.h"
#include "api/front/exchange.h"
#include "api/reply.h"
#include "api/routing/route.h"
#include "schemas/error_body.h"

namespace millrace::api {

// A stream pauses while its client has not taken so many bytes, and goes on when it has.
inline constexpr std::size_t kBacklogPause = 256 * 1024;
inline constexpr std::size_t kBacklogResume = 64 * 1024;

// One request on its way through the guard and a handler. Made on its head, carried by the front end as the
// request's hold, answered once. What a Call answers carries x-request-id, and is counted and logged; a Call
// that goes without an answer answers 500. `reply` and what stands on it are thread-safe; the rest belongs to
// whoever runs the request.
class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(const front::Head& head, HttpMetrics& metrics);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Filled by the guard on the head.
  const Route* route = nullptr;
  std::vector<std::string> params;
  PrincipalPtr principal;  // null on open routes
  bool key_unknown = false;
  std::unique_ptr<front::Reply> refusal;  // of a request without a body: sent when it runs
  ByteBudget::Hold budget;
  bool body_skipped = false;               // thrown away: its key was not known, and there was no room for it
  std::optional<RequestRate::Count> rate;  // of a key that is limited: every answer says it
  bool replay_only = false;                // the key has no place for another job
  std::shared_ptr<Upload> upload;          // takes the body of a form; null: there is none

  // The whole request has arrived.
  void begin(front::Request request, front::Responder responder);
  bool begun() const { return begun_; }

  const front::Head& head() const { return request_.head; }
  std::string& body() { return request_.body; }
  const std::string& tenant() const { return principal->tenant; }
  const std::string& request_id() const { return request_id_; }
  // Frees the body, or the upload, and its share of the byte budget, while the request goes on waiting.
  void drop_body();
  // Frees the request's header fields and its query, of which an answer that has begun needs none.
  void drop_headers();
  // From now on every answer carries x-millrace-job.
  void name_job(std::string job_id);  // thread-safe
  // The log line names the model that was asked. Thread-safe.
  void name_model(std::string model);
  // The right to make a job: taken by who makes it, else given back with the answer. Thread-safe.
  void hold_place(JobPlaces::Place place);
  JobPlaces::Place take_place();

  void reply(front::Reply reply);
  void fail(const base::Error& error, const schemas::Problems& problems = {});
  void fail(const base::Error& error, front::Reply shown);  // in a reply that has more to say
  void refuse(const schemas::Refusal& why) { fail(why.error, why.problems); }
  // An answer in pieces, which `responder()` then takes; front::Responder says what `length` is. False: the
  // client has gone.
  bool start_stream(front::Reply head, std::optional<std::uint64_t> length = std::nullopt);
  bool start_stream(front::Reply head, std::string_view first);  // with the first piece, if there is one
  const front::Responder& responder() const { return responder_; }
  // Runs `f` once if the client leaves before the answer is complete.
  void on_gone(std::function<void()> f) const { responder_.on_gone(std::move(f)); }

  // The same for a refusal that the front end sends itself, before the request has begun.
  front::Reply dressed(const front::Head& head, front::Reply reply);

 private:
  bool take_right_to_answer() { return !answered_.exchange(true); }
  struct Named {
    std::string job_id, model;
    std::string_view cause;
  };
  Named named();
  void note(const front::Head& head, int status, const Named& named);

  HttpMetrics& metrics_;
  std::string request_id_;
  std::mutex job_mutex_;  // guards the next four
  std::string job_id_, model_;
  std::string_view cause_;  // the code of the error that is answered
  JobPlaces::Place place_;
  front::Request request_;
  front::Responder responder_;
  std::chrono::steady_clock::time_point arrived_;
  bool begun_ = false;
  std::atomic<bool> answered_{false};
};

}  // namespace millrace::api
