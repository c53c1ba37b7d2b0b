#include "ai/inference/chat/reply_or_error.h"

#include <iterator>

namespace millrace::inference {

using base::Code;
using schemas::ChatReply;

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
