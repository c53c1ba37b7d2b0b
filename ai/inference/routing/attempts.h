#pragma once
#include <chrono>
#include <memory>
#include <optional>

#include "ai/inference/chat/chat_parts.h"

// What all calls to upstreams have in common, of chats and of others: when to call again, and what is learned
// of a target. Loop thread only.
namespace millrace::inference {

// One target of the way that a request may go.
struct Step {
  ModelPtr model;
  const ModelRow* row;  // of the model
  TargetStatePtr state;
  Work work = Work::kChat;

  Breaker& breaker() const { return state->breaker(work); }
};

bool is_mock(const Step& step);

// Another target may do better.
bool is_worth_another(base::Code code);
// How long to wait before the next call of this target; nullopt: there is none. `number`: of the call that
// has failed, from 1; `began`: when the limits let the request in.
std::optional<std::chrono::milliseconds> retry_wait(ChatParts& parts,
                                                    std::chrono::steady_clock::time_point began,
                                                    const base::Error& error, int number);

// What targets that were asked one after the other have refused with. Small: requests wait with one.
class Refusals {
 public:
  // `asked`: an upstream has said so; else it was not called at all.
  void add(base::Error error, bool was_sent);
  // The last upstream's word, if one was asked; but where that one is for good and another of all may do
  // better later, as an account that is filled up again may, the last of those. REQUIRES: `add`.
  base::Error take_error() &&;

 private:
  std::unique_ptr<base::Error> reported_, hopeful_;
  bool of_upstream_ = false;
};

// The breaker does not let a call out.
base::Error left_alone(const Step& step);
// A call that had `pass` has ended: well (null), or by `error`.
void judge(ChatParts& parts, const Registry& registry, const Step& step, Breaker::Pass pass,
           const base::Error* error, std::chrono::steady_clock::duration took);
// Tokens that the limits were charged for before, and how.
struct Charged {
  std::int64_t tokens;
  RateLimiter::Manner manner;
};
// Counts what an answer has used; what it costs, where there is a price.
std::optional<double> settle(ChatParts& parts, const Registry& registry, const Step& step,
                             const schemas::ChatUsage& usage, const Charged& charged);

}  // namespace millrace::inference
