#pragma once
#include <functional>
#include <optional>
#include <utility>

#include "ai/engines/engine_call.h"

namespace millrace::engines {

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

}  // namespace millrace::engines
