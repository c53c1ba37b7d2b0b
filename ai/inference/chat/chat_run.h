#pragma once
#include <memory>
#include <optional>

#include "ai/inference/chat/fallback_executor.h"
#include "ai/inference/chat/tool_loop.h"

namespace millrace::inference {

// One running request of a Chat: routing, then one answer or several turns, passed to the sink. It keeps
// itself alive until its task has ended. Loop thread only.
class ChatRunImpl final : public ChatRun, public std::enable_shared_from_this<ChatRunImpl> {
 public:
  ChatRunImpl(std::shared_ptr<ChatShared> shared, RegistryPtr registry, schemas::ChatRequest request,
              ChatSink& sink);

  void begin();  // no sink callback before it returns
  schemas::Charge charged() const override { return executor_ ? executor_->charged() : schemas::Charge{}; }
  void cancel() override;
  void resume() override;

 private:
  base::Result<std::vector<TargetCandidate>> choose_targets();
  AttemptCallbacks callbacks();
  net::Task<void> work();
  net::Task<std::optional<ReplyOrError>> prepare_attempts();
  net::Task<ReplyOrError> answer();
  void drop_request(bool is_large);
  void on_piece(schemas::ChatPiece&& piece);
  void deliver_head();
  void send_piece(schemas::ChatPiece&& piece);
  void end(ReplyOrError reply);

  std::shared_ptr<ChatShared> shared_;
  RegistryPtr registry_;
  // Null once the stream has begun, if the request is sent only once.
  std::unique_ptr<schemas::ChatRequest> request_;
  ChatSink* sink_;  // null after a cancel and after the end
  net::Cancel cancel_;
  std::optional<FallbackExecutor> executor_;
  std::unique_ptr<ToolLoop> tool_loop_;
  bool head_delivered_ = false;
};

}  // namespace millrace::inference
