#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/chat/chat_reply.h"

namespace millrace::providers {

// Finds the end of a JSON object that arrives in pieces. Not thread-safe.
class ObjectEnd {
 public:
  void add(std::string_view text);
  bool is_reached() const { return is_object_ && depth_ == 0; }

 private:
  int depth_ = 0;
  bool begun_ = false, is_object_ = false, quoted_ = false, escaped_ = false;
};

// A tool call of a choice, from the deltas of a stream. Its first piece has the whole name, which may arrive
// in pieces: it is held until the arguments begin.
struct OpenaiCall {
  std::int64_t upstream_index = -1;  // -1: not given
  std::string id = {};               // from the upstream; may be empty
  std::string name = {};
  schemas::ToolCallPiece held = {};  // the first piece, until it is sent
  bool is_sent = false, has_arguments = false, is_custom = false;
  ObjectEnd arguments = {};  // of a function

  // True if a piece with this name and arguments belongs to a new call, because this one is complete.
  bool is_before(std::string_view new_name, std::string_view new_arguments) const;
  // Takes a piece without its name, id and type. True: it can be sent, with what was held.
  bool take(schemas::ToolCallPiece& piece, std::string new_name);
  // The held piece, with the name.
  schemas::ToolCallPiece release();
};

}  // namespace millrace::providers
