#pragma once
#include <set>

#include "ai/engines/engine_call.h"

namespace millrace::engines {

// A call about numbered parts of one thing (pages, pieces), each of which is reported once. A part that its
// child is ended over fails alone.
class PartsCall : public EngineCall {
 public:
  std::optional<EngineEnd> stuck(Stuck why) final;

 protected:
  explicit PartsCall(std::set<int> parts) : left_(std::move(parts)) {}

  const std::set<int>& left() const { return left_; }
  // The part to blame: the one that was begun, unless it is done already; -1 when none is left.
  int blamed() const { return left_.contains(at_) || left_.empty() ? at_ : *left_.begin(); }
  void begin(int part) { at_ = part; }
  // False: it was not asked for, or comes twice: the word of a broken child.
  bool take(int part) { return left_.erase(part) > 0; }
  // The child says that it is done.
  EngineEnd done() const { return left_.empty() ? ended(EngineEnd::Kind::kDone) : broken(); }

  virtual base::Error stuck_error(int part, Stuck why) const = 0;
  virtual void report_failed(int part, base::Error error) = 0;

 private:
  std::set<int> left_;
  int at_ = -1;
};

}  // namespace millrace::engines
