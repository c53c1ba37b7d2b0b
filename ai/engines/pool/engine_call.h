#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "ai/engines/pool/engine_child.h"
#include "ai/engines/pool/engine_end.h"
#include "platform/base/fd.h"

namespace millrace::engines {

EngineEnd ended(EngineEnd::Kind kind);
EngineEnd failed(base::Error error);

// One call of a front: what is asked of a child, what its answers mean, and who hears of them. All but
// `cancel` is called by the one pump that serves it.
class EngineCall {
 public:
  enum class Stuck { kByClock, kByProcessorTime };
  // Where a call is, for the log: the page or piece (-1: none), and what it is one of.
  struct Place {
    int part = -1;
    std::string_view of;
  };

  EngineCall() = default;
  virtual ~EngineCall() = default;
  EngineCall(const EngineCall&) = delete;
  EngineCall& operator=(const EngineCall&) = delete;

  // Sends the child what is left to do, and what it is about. False: the child is gone.
  virtual bool ask(EngineChild& child) = 0;
  // How long the child may be silent before it counts as stuck.
  virtual std::chrono::milliseconds patience() const = 0;
  // How long the whole call may hold its pump, whatever the child says meanwhile.
  virtual std::chrono::milliseconds wall() const { return patience(); }
  // The end of the call, when this event is it; `broken()` when no sound child would send it.
  virtual std::optional<EngineEnd> handle(Event event) = 0;
  // The child was ended over what it was at. nullopt: that alone failed, and a new child is asked for what is
  // left.
  virtual std::optional<EngineEnd> stuck(Stuck why) = 0;
  // How many children may die over the call, or talk nonsense, before that is its end: each time another is
  // asked for what is left.
  virtual int crashes_borne() const { return 0; }
  // The one end of the call.
  virtual void end(EngineEnd how) = 0;

  virtual Place place() const = 0;
  // The child died, or talks nonsense.
  EngineEnd broken() const { return {EngineEnd::Kind::kCrashed, place().part, std::nullopt}; }

  // False: no descriptor was left for `cancel`.
  bool usable() const { return static_cast<bool>(cancelled_); }
  // Readable once the call is cancelled. Borrowed.
  int cancelled_fd() const { return cancelled_.get(); }
  bool is_cancelled() const;
  void cancel() const;

 private:
  static base::Fd cancel_event();
  base::Fd cancelled_ = cancel_event();
};

// A call with one answer: `done` hears it, or why there is none.
template <class Answer>
class AnswerCall : public EngineCall {
 public:
  using Done = std::function<void(base::Result<Answer>)>;

  std::optional<EngineEnd> handle(Event event) final {
    if (event.kind == Event::Kind::kFailed) return failed(std::move(event.error));
    answer_ = answer_in(std::move(event));
    return answer_ ? ended(EngineEnd::Kind::kDone) : broken();
  }
  void end(EngineEnd how) final { done_(result(std::move(how))); }

 protected:
  explicit AnswerCall(Done done) : done_(std::move(done)) {}

  // nullopt: no sound child would send it.
  virtual std::optional<Answer> answer_in(Event event) const = 0;
  // What `done` hears when the child died, or talked nonsense.
  virtual base::Error crash_error() const = 0;

 private:
  base::Result<Answer> result(EngineEnd how) {
    switch (how.kind) {
      case EngineEnd::Kind::kDone:
        return *std::move(answer_);
      case EngineEnd::Kind::kCrashed:
        return crash_error();
      case EngineEnd::Kind::kCancelled:
        return base::error(base::Code::kJobCancelled, "cancelled");
      case EngineEnd::Kind::kFailed:
        break;
    }
    return *std::move(how.error);
  }

  const Done done_;
  std::optional<Answer> answer_;
};

// A call over many parts (pages, pieces), each of which the child begins and then reports. A part that its
// child is ended over fails alone. A child that begins more often than any sound one does is broken.
class PartsCall : public EngineCall {
 public:
  std::chrono::milliseconds wall() const final;
  std::optional<EngineEnd> handle(Event event) final;
  std::optional<EngineEnd> stuck(Stuck why) final;
  void end(EngineEnd how) final { done_(std::move(how)); }

 protected:
  PartsCall(std::set<int> parts, std::function<void(EngineEnd)> done);

  const std::set<int>& left() const { return left_; }
  // The part to blame: the one that was begun, unless it is done already; -1 when none is left.
  int blamed() const { return left_.contains(at_) || left_.empty() ? at_ : *left_.begin(); }

  // The part that the event reports; nullopt: it reports none.
  virtual std::optional<int> part_in(const Event& event) const = 0;
  virtual void report(Event event) = 0;
  virtual base::Error stuck_error(int part, Stuck why) const = 0;
  virtual void report_failed(int part, base::Error error) = 0;

 private:
  std::set<int> left_;
  std::function<void(EngineEnd)> done_;
  int at_ = -1;
  std::size_t begins_left_;
};

}  // namespace millrace::engines
