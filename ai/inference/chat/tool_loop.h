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

// What of a streamed turn goes to the client while it arrives: everything but the calls of tools that we
// execute, and the finish_reason, which is known when the turn is over. What annotations count is the text of
// all turns, as the client has it. The turn is put together beside. Requests with server-side tools have one
// choice.
class TurnFilter {
 public:
  explicit TurnFilter(std::function<bool(const std::string& tool)> is_ours) : is_ours_(std::move(is_ours)) {}

  // `all_calls`: nothing of this turn is executed, every call is the client's.
  void begin(bool all_calls);
  // What is to be sent; nullopt: nothing now.
  std::optional<schemas::ChatPiece> pass(schemas::ChatPiece&& piece);
  // The whole turn.
  schemas::ChatReply take() { return turn_.take(); }

 private:
  struct Call {
    std::string name;
    bool decided = false, ours = false;
    int index = 0;                                  // among those that the client sees
    std::vector<schemas::ToolCallPiece> held = {};  // before its name is known
  };
  void count_from_first_turn(schemas::ChatPiece& piece) const;
  void pass_call(schemas::ToolCallPiece&& piece, std::vector<schemas::ToolCallPiece>& out);

  std::function<bool(const std::string&)> is_ours_;
  bool all_calls_ = false;
  std::map<int, Call> calls_;
  int next_index_ = 0;
  std::size_t characters_ = 0, sent_before_ = 0;  // characters of content: so far, and before this turn
  schemas::ChatAssembly turn_;
};

// A request with server-side tools: asks, runs the calls of servers' tools, asks again with their results,
// until the model calls none of them, calls one of the client's, or max_turns is reached
// (docs/design/http-contract.md §4). One per run; loop thread only. All that it is given by reference
// outlives its task.
class ToolLoop {
 public:
  // `on_tools`: of a stream, before calls of servers' tools are run; they may take long.
  ToolLoop(ChatParts& parts, const Registry& registry, schemas::ChatRequest& request, FallbackExecutor& tries,
           net::Cancel& cancel, std::function<void(schemas::ChatPiece&&)> out,
           std::function<void()> on_tools);

  // The last turn's answer with the usage of all, and the report of the tools. Of a stream without choices.
  net::Task<ReplyOrError> run();
  // A piece of the turn under way.
  void receive(schemas::ChatPiece&& piece);

 private:
  struct Split {
    std::vector<schemas::ToolCall> ours, clients;
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
