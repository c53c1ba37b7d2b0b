#pragma once
#include <functional>
#include <memory>
#include <string>

#include "ai/inference/chat/chat.h"
#include "workers/loop_link.h"

namespace millrace::workers {

// A Chat that works on a loop of its own, and that loop; both outlive what is asked of it.
struct ChatSource {
  inference::Chat& chat;
  net::Loop& loop;
};

// A job for a provider's model where the worker has none of that name (any more).
base::Error no_remote_model(const std::string& name);

// One completion asked of a Chat on another loop than the asker's. What the asker hears it hears on its own,
// in the same order, until it cancels or has gone.
class ProviderChat final : public inference::ChatSink, public std::enable_shared_from_this<ProviderChat> {
 public:
  ProviderChat(ChatSource source, LoopLink home, std::weak_ptr<inference::ChatSink> asker);
  // On the asker's loop, both; without `cancel` this must be kept until on_end.
  void start(schemas::ChatRequest request);
  void cancel();

  // On the Chat's loop.
  void on_head(const inference::ChatHead& head) override;
  void on_piece(schemas::ChatPiece&&) override {}  // the whole is asked for
  void before_sending(std::function<void(bool go)> go) override;
  void on_failed_calls(const inference::ChatHead& head, std::optional<double> cost_usd) override;
  void on_end(base::Result<inference::ChatEnd> end) override;

 private:
  // Runs `f` on the asker's loop; false: that has ended.
  bool at_home(std::function<void(inference::ChatSink*)> f) const;  // null: the asker has gone

  const ChatSource source_;
  const LoopLink home_;
  const std::weak_ptr<inference::ChatSink> asker_;
  std::shared_ptr<inference::ChatRun> run_;  // the Chat's loop only
  bool cancelled_ = false;                   // the same
};

}  // namespace millrace::workers
