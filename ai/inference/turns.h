#pragma once
#include <functional>

#include "ai/inference/tool_box.h"
#include "ai/inference/tries.h"
#include "ai/inference/turn_filter.h"

namespace millrace::inference {

// A request with server-side tools: asks, runs the calls of servers' tools, asks again with their results,
// until the model calls none of them, calls one of the client's, or max_turns is reached (contract.md §4).
// One per run; loop thread only. All that it is given by reference outlives its task.
class Turns {
 public:
  // `on_tools`: of a stream, before calls of servers' tools are run; they may take long.
  Turns(ChatParts& parts, const Registry& registry, schemas::ChatRequest& request, Tries& tries,
        net::Cancel& cancel, std::function<void(schemas::ChatPiece&&)> out, std::function<void()> on_tools);

  // The last turn's answer with the usage of all, and the report of the tools. Of a stream without choices.
  net::Task<ReplyOrError> run();
  // A piece of the turn under way.
  void hear(schemas::ChatPiece&& piece);

 private:
  struct Split {
    std::vector<schemas::ToolCall> ours, clients;
  };
  Split split(const schemas::ChatReply& turn) const;
  net::Task<ReplyOrError> ask(bool is_last);
  net::Task<void> execute(const schemas::ChatReply& turn, std::vector<schemas::ToolCall> calls);
  schemas::ChatReply finish(schemas::ChatReply turn, std::vector<schemas::ToolCall> calls);

  schemas::ChatRequest& request_;
  Tries& tries_;
  net::Cancel& cancel_;
  std::function<void(schemas::ChatPiece&&)> out_;
  std::function<void()> on_tools_;
  ToolBox tools_;
  TurnFilter filter_;
  schemas::ToolReport report_;
  schemas::ChatUsage usage_;
};

}  // namespace millrace::inference
