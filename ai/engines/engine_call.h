#pragma once
#include <chrono>
#include <optional>
#include <string_view>

#include "ai/engines/engine_child.h"
#include "ai/engines/engine_end.h"
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

}  // namespace millrace::engines
