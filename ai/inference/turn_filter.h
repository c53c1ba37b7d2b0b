#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/chat_reply.h"

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
  std::size_t said_ = 0, said_before_ = 0;  // characters of content: so far, and before this turn
  schemas::ChatAssembly turn_;
};

}  // namespace millrace::inference
