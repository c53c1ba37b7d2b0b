#pragma once
#include <chrono>
#include <optional>

#include "ai/inference/chat_parts.h"

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

// The breaker does not let a call out.
base::Error left_alone(const Step& step);
// A call that had `pass` has ended: well (null), or by `error`.
void judge(ChatParts& parts, const Registry& registry, const Step& step, Breaker::Pass pass,
           const base::Error* error, std::chrono::steady_clock::duration took);
// Tokens that the limits were charged for before, and how.
struct Charged {
  std::int64_t tokens;
  MinuteLimit::Manner manner;
};
// Counts what an answer has used; what it costs, where there is a price.
std::optional<double> settle(ChatParts& parts, const Registry& registry, const Step& step,
                             const schemas::ChatUsage& usage, const Charged& charged);

}  // namespace millrace::inference
