#pragma once
#include <memory>
#include <utility>

#include "platform/base/result.h"
#include "schemas/chat_reply.h"

namespace millrace::inference {

// A base::Result on the heap: every coroutine that a request waits in keeps room for it, some of them twice,
// and that room is a pointer. Of one that was moved from nothing may be asked.
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

}  // namespace millrace::inference
