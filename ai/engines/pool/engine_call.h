#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "ai/engines/pool/engine_child.h"
#include "ai/engines/pool/engine_end.h"
#include "platform/base/fd.h"

namespace millrace::engines {

EngineResult ended(EngineResult::Kind kind);
EngineResult failed(base::Error error);

// One call of an engine front end: the requests to the child, the handling of its events, and the callbacks.
// Only `cancel` may be called from any thread; everything else is called by the pump that runs the call.
class EngineCall {
 public:
  enum class LimitHit { kByClock, kByProcessorTime };
  // Current position of the call, for the log: the page or piece (-1: none), and which of the two it is.
  struct Place {
    int part = -1;
    std::string_view of;
  };

  // `owner`: the tenant of the input. A child that has served a call serves only calls of the same owner.
  explicit EngineCall(std::string owner) : owner_(std::move(owner)) {}
  virtual ~EngineCall() = default;
  EngineCall(const EngineCall&) = delete;
  EngineCall& operator=(const EngineCall&) = delete;

  // Sends the child the remaining work and the document or recording. False: the child is gone.
  virtual bool send_request(EngineChild& child) = 0;
  // How long the child may send nothing before it counts as stuck.
  virtual std::chrono::milliseconds time_limit() const = 0;
  // Maximum time for the whole call, regardless of how many events the child sends.
  virtual std::chrono::milliseconds wall() const { return time_limit(); }
  // The end of the call if this event ends it; `broken()` if no correct child would send the event.
  virtual std::optional<EngineResult> handle(Event event) = 0;
  // The child was killed because of its current part. nullopt: only that part failed, and a new child
  // continues with the rest.
  virtual std::optional<EngineResult> on_limit_hit(LimitHit why) = 0;
  // How many children may crash or send invalid events before the call ends. Each time, a new child continues
  // with the rest.
  virtual int crashes_max() const { return 0; }
  // Ends the call; called exactly once.
  virtual void end(EngineResult how) = 0;

  const std::string& owner() const { return owner_; }
  virtual Place place() const = 0;
  // The child died or sent invalid events.
  EngineResult broken() const { return {EngineResult::Kind::kCrashed, place().part, std::nullopt, {}}; }

  // False: no file descriptor was available for `cancel`.
  bool usable() const { return static_cast<bool>(cancelled_); }
  // Becomes readable when the call is cancelled. Borrowed.
  int cancelled_fd() const { return cancelled_.get(); }
  bool is_cancelled() const;
  void cancel() const;

 private:
  static base::Fd cancel_event();
  const std::string owner_;
  base::Fd cancelled_ = cancel_event();
};

// A call with one answer. `done` receives the answer or the error.
template <class Answer>
class SingleResultCall : public EngineCall {
 public:
  using Done = std::function<void(base::Result<Answer>)>;

  std::optional<EngineResult> handle(Event event) final {
    if (event.kind == Event::Kind::kFailed) return failed(std::move(event.error));
    answer_ = answer_in(std::move(event));
    return answer_ ? ended(EngineResult::Kind::kDone) : broken();
  }
  void end(EngineResult how) final { done_(result(std::move(how))); }

 protected:
  SingleResultCall(std::string owner, Done done) : EngineCall(std::move(owner)), done_(std::move(done)) {}

  // nullopt: no correct child would send the event.
  virtual std::optional<Answer> answer_in(Event event) const = 0;
  // The error for `done` when the child died or sent invalid events.
  virtual base::Error crash_error() const = 0;

 private:
  base::Result<Answer> result(EngineResult how) {
    switch (how.kind) {
      case EngineResult::Kind::kDone:
        return *std::move(answer_);
      case EngineResult::Kind::kCrashed:
        return crash_error();
      case EngineResult::Kind::kCancelled:
        return base::error(base::Code::kJobCancelled, "cancelled");
      case EngineResult::Kind::kFailed:
        break;
    }
    return *std::move(how.error);
  }

  const Done done_;
  std::optional<Answer> answer_;
};

// A call over many parts (pages, pieces). The child reports the beginning and the result of each. If the
// child is killed during a part, only that part fails. A child that reports more beginnings than a correct
// one does is broken.
class PartsCall : public EngineCall {
 public:
  std::chrono::milliseconds wall() const final;
  std::optional<EngineResult> handle(Event event) final;
  std::optional<EngineResult> on_limit_hit(LimitHit why) final;
  void end(EngineResult how) final { done_(std::move(how)); }

 protected:
  PartsCall(std::string owner, std::set<int> parts, std::function<void(EngineResult)> done);

  const std::set<int>& left() const { return left_; }
  // The part that a failure counts against: the last one begun, or, if that one is done, the first that is
  // left.
  int suspect_part() const { return left_.contains(at_) || left_.empty() ? at_ : *left_.begin(); }

  // The part that the event reports; nullopt: the event reports no part.
  virtual std::optional<int> part_in(const Event& event) const = 0;
  virtual void report(Event event) = 0;
  virtual base::Error stuck_error(int part, LimitHit why) const = 0;
  // The child's limit of processor time for the part.
  virtual std::chrono::milliseconds cpu_max(int part) const = 0;
  virtual void report_failed(int part, base::Error error, std::chrono::milliseconds cpu) = 0;

 private:
  std::set<int> left_;
  std::function<void(EngineResult)> done_;
  int at_ = -1;
  std::size_t begins_left_;
};

}  // namespace millrace::engines
