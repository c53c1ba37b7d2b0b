#include "ai/inference/chat/reply_or_error.h"

#include <iterator>

#include "ai/providers/call.h"

namespace millrace::inference {

using base::Code;
using schemas::ChatReply;

void process_reply(const providers::Target& target, ReplyOrError& reply, const std::function<void()>& work) {
  const auto run = [&]() -> base::Status {
    work();
    return {};
  };
  if (base::Status done = providers::read_safely(target, run); !done) reply = std::move(done.error());
}

ReplyOrError joined(std::vector<std::optional<ReplyOrError>>& replies) {
  for (const auto& reply : replies) {
    if (!*reply && reply->error().code != Code::kJobCancelled) return reply->error();
  }
  ChatReply whole;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (!*replies[i]) return replies[i]->error();
    ChatReply& reply = **replies[i];
    if (!reply.choices.empty()) {
      reply.choices.resize(1);
      reply.choices[0].index = static_cast<int>(i);
    }
    if (i == 0) {
      whole = std::move(reply);
      continue;
    }
    schemas::add(*whole.usage, *reply.usage);
    std::move(reply.choices.begin(), reply.choices.end(), std::back_inserter(whole.choices));
  }
  return whole;
}

}  // namespace millrace::inference
