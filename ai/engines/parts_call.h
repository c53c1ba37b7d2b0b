#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <set>

#include "ai/engines/engine_call.h"

namespace millrace::engines {

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
