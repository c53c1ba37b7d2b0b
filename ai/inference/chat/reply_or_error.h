#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ai/providers/provider.h"
#include "platform/base/result.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::inference {

// A base::Result on the heap, to keep coroutine frames small. A moved-from object must not be used.
class [[nodiscard]] ReplyOrError {
 public:
  using Outcome = base::Result<schemas::ChatReply>;
  ReplyOrError(Outcome outcome) : outcome_(std::make_unique<Outcome>(std::move(outcome))) {}
  ReplyOrError(schemas::ChatReply reply) : outcome_(std::make_unique<Outcome>(std::move(reply))) {}
  ReplyOrError(base::Error error) : outcome_(std::make_unique<Outcome>(std::move(error))) {}

  explicit operator bool() const { return outcome_->has_value(); }
  schemas::ChatReply& operator*() { return **outcome_; }
  schemas::ChatReply* operator->() { return &**outcome_; }
  base::Error& error() { return outcome_->error(); }
  const base::Error& error() const { return outcome_->error(); }

 private:
  std::unique_ptr<Outcome> outcome_;
};

// Runs `work` on a reply of the target. If it throws, the reply becomes an error (providers::reading_failed).
// Coroutines do this for all that depends on what an upstream has sent: they may not throw.
void process_reply(const providers::Target& target, ReplyOrError& reply, const std::function<void()>& work);

// One reply of several calls, each for one choice; the place of a call is the index of its choice. All have a
// usage, which is added up. If a call failed, its error; a cancelled call explains nothing if another failed.
ReplyOrError joined(std::vector<std::optional<ReplyOrError>>& replies);

}  // namespace millrace::inference
