#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ai/inference/chat/fallback_executor.h"
#include "ai/inference/chat/tool_box.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::inference {

// Selects what of a turn is sent to the client: everything except the calls of tools that the gateway runs
// and the finish_reason, which is known only when the turn is over. A blank line separates the texts of two
// turns, and their reasoning. Annotation offsets are changed to count from the first turn, because the client
// receives the text of all turns. Of the unknown members, lists of all turns are sent, and other values of
// the last turn only: clients would append them. The filter also assembles the whole turn. Requests with
// server-side tools have one choice.
class TurnFilter {
 public:
  // `last_text_only`: the text of all turns but the last is left out, because a response_format describes one
  // document.
  explicit TurnFilter(std::function<bool(const std::string& tool)> is_server_tool,
                      bool last_text_only = false)
      : is_server_tool_(std::move(is_server_tool)), last_text_only_(last_text_only) {}

  // `all_calls`: this is the last turn; the gateway runs no call of it, and all calls go to the client.
  void begin(bool all_calls);
  // The piece to send; nullopt: nothing to send now.
  std::optional<schemas::ChatPiece> filter_piece(schemas::ChatPiece&& piece);
  // What was held back of a turn that turned out to be the last.
  std::vector<schemas::ChatPiece> take_held() { return std::exchange(held_, {}); }
  // The whole turn.
  schemas::ChatReply take() { return turn_.take(); }

 private:
  struct Call {
    std::string name;
    bool decided = false, server_side = false;
    int index = 0;                                  // among the calls that the client receives
    std::vector<schemas::ToolCallPiece> held = {};  // received before the tool's name is known
  };
  void separate(schemas::ChatPiece& piece);
  void hold(schemas::ChatPiece& piece);
  void filter_call(schemas::ToolCallPiece&& piece, std::vector<schemas::ToolCallPiece>& out);

  std::function<bool(const std::string&)> is_server_tool_;
  const bool last_text_only_;
  bool all_calls_ = false;
  std::map<int, Call> calls_;
  int next_index_ = 0;
  std::size_t characters_ = 0, sent_before_ = 0;   // characters of content: in total, and before this turn
  bool has_text_ = false, has_reasoning_ = false;  // this turn
  bool reasoned_before_ = false;                   // an earlier turn
  std::vector<schemas::ChatPiece> held_;
  schemas::ChatAssembly turn_;
};

// Runs a request with server-side tools. Sends the request, runs the calls of server-side tools, and sends
// the request again with their results. Stops when the model calls none of them, calls a client tool, the
// answer was cut off or filtered, or max_turns is reached (docs/design/http-contract.md §4). A call of a tool
// that nobody defined gets an error as its result. One per run; loop thread only. All references passed in
// outlive its task.
class ToolLoop {
 public:
  // `on_tools`: streams only; called before server-side tools run, because that may take long.
  ToolLoop(ChatShared& shared, const Registry& registry, schemas::ChatRequest& request,
           FallbackExecutor& executor, net::Cancel& cancel, std::function<void(schemas::ChatPiece&&)> out,
           std::function<void()> on_tools);

  // The answer of the last turn with the text and the usage of all turns and the report of the tools. For a
  // stream, without choices.
  net::Task<ReplyOrError> run();
  // Receives a piece of the current turn.
  void on_piece(schemas::ChatPiece&& piece);

 private:
  struct Split {
    std::vector<schemas::ToolCall> server_side, client_side;
  };
  bool is_run_here(const std::string& tool) const { return tools_.has(tool) || !tools_.is_of_client(tool); }
  Split split(const schemas::ChatReply& turn) const;
  void send(schemas::ChatPiece&& piece);
  net::Task<ReplyOrError> request_reply(bool is_last);
  net::Task<void> execute(ReplyOrError& turn, std::vector<schemas::ToolCall> calls);
  ReplyOrError finish(ReplyOrError turn);
  schemas::ChatReply finished(schemas::ChatReply turn);

  schemas::ChatRequest& request_;
  FallbackExecutor& executor_;
  net::Cancel& cancel_;
  std::function<void(schemas::ChatPiece&&)> out_;
  std::function<void()> on_tools_;
  ToolBox tools_;
  TurnFilter filter_;
  schemas::ChatAssembly sent_;  // what a stream would have sent
  schemas::ToolReport report_;
  schemas::ChatUsage usage_;
};

}  // namespace millrace::inference
