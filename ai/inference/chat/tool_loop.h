#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ai/inference/chat/fallback_executor.h"
#include "ai/inference/chat/tool_box.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::inference {

// Selects what of a streamed turn is sent to the client while it arrives: everything except the calls of
// tools that the gateway runs and the finish_reason, which is known only when the turn is over. Annotation
// offsets are changed to count from the first turn, because the client receives the text of all turns. The
// filter also assembles the whole turn. Requests with server-side tools have one choice.
class TurnFilter {
 public:
  explicit TurnFilter(std::function<bool(const std::string& tool)> is_server_tool)
      : is_server_tool_(std::move(is_server_tool)) {}

  // `all_calls`: the gateway runs no call of this turn; all calls go to the client.
  void begin(bool all_calls);
  // The piece to send; nullopt: nothing to send now.
  std::optional<schemas::ChatPiece> filter_piece(schemas::ChatPiece&& piece);
  // The whole turn.
  schemas::ChatReply take() { return turn_.take(); }

 private:
  struct Call {
    std::string name;
    bool decided = false, server_side = false;
    int index = 0;                                  // among the calls that the client receives
    std::vector<schemas::ToolCallPiece> held = {};  // received before the tool's name is known
  };
  void count_from_first_turn(schemas::ChatPiece& piece) const;
  void filter_call(schemas::ToolCallPiece&& piece, std::vector<schemas::ToolCallPiece>& out);

  std::function<bool(const std::string&)> is_server_tool_;
  bool all_calls_ = false;
  std::map<int, Call> calls_;
  int next_index_ = 0;
  std::size_t characters_ = 0, sent_before_ = 0;  // characters of content: in total, and before this turn
  schemas::ChatAssembly turn_;
};

// Runs a request with server-side tools. Sends the request, runs the calls of server-side tools, and sends
// the request again with their results. Stops when the model calls none of them, calls a client tool, or
// max_turns is reached (docs/design/http-contract.md §4). One per run; loop thread only. All references
// passed in outlive its task.
class ToolLoop {
 public:
  // `on_tools`: streams only; called before server-side tools run, because that may take long.
  ToolLoop(ChatShared& shared, const Registry& registry, schemas::ChatRequest& request,
           FallbackExecutor& executor, net::Cancel& cancel, std::function<void(schemas::ChatPiece&&)> out,
           std::function<void()> on_tools);

  // The answer of the last turn with the usage of all turns and the report of the tools. For a stream,
  // without choices.
  net::Task<ReplyOrError> run();
  // Receives a piece of the current turn.
  void on_piece(schemas::ChatPiece&& piece);

 private:
  struct Split {
    std::vector<schemas::ToolCall> server_side, client_side;
  };
  Split split(const schemas::ChatReply& turn) const;
  net::Task<ReplyOrError> request_reply(bool is_last);
  net::Task<void> execute(const schemas::ChatReply& turn, std::vector<schemas::ToolCall> calls);
  schemas::ChatReply finish(schemas::ChatReply turn, std::vector<schemas::ToolCall> calls);

  schemas::ChatRequest& request_;
  FallbackExecutor& executor_;
  net::Cancel& cancel_;
  std::function<void(schemas::ChatPiece&&)> out_;
  std::function<void()> on_tools_;
  ToolBox tools_;
  TurnFilter filter_;
  schemas::ToolReport report_;
  schemas::ChatUsage usage_;
};

}  // namespace millrace::inference
