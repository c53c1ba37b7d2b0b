#pragma once
#include <cstddef>
#include <string>

#include "schemas/chat/chat_reply.h"

namespace millrace::inference {

// Calls for one turn: the first, and those that continue it after a pause (providers::kPausedTurn). If the
// provider pauses once more, the turn ends with the finish_reason "length".
inline constexpr int kTurnCallsMax = 10;

// One turn of a model whose provider may pause it to run tools of its own. What the provider sent until then
// goes back to it, and it goes on. The client receives one answer: this joins its parts. Whole and streamed.
class PausedTurn {
 public:
  void begin_call();  // of the current part: a first or repeated one
  // A piece of a stream, changed to one of the whole turn. False: nothing is left of it for the client.
  bool take(schemas::ChatPiece& piece);
  // A whole reply: its choice is changed to a part of the turn. Returns what the schema check of the whole
  // turn sees of that part; without a finish_reason if the turn is paused.
  schemas::ChatPiece take(schemas::ChatReply& reply);

  bool is_paused() const { return !paused_.empty(); }
  bool is_continued() const { return !earlier_.empty(); }
  // REQUIRES: is_paused. The current part becomes an earlier one. Returns the message that sends it back.
  schemas::ChatChoice next_part();

 private:
  void count(const std::string& text);

  std::string earlier_;  // the state of all earlier parts
  std::string paused_;   // of the current part; empty: it has not been paused
  std::string text_;     // of the current part
  std::size_t characters_before_ = 0, characters_ = 0;
  int calls_before_ = 0, calls_ = 0;
};

// For a call without a PausedTurn: an unexpected pause ends the answer with "length".
void end_paused(schemas::ChatPiece& piece);
void end_paused(schemas::ChatReply& reply);

// Adds a further part of the turn to a whole reply, or its usage to the reply of a stream.
void add_part(schemas::ChatReply& reply, schemas::ChatReply part);

}  // namespace millrace::inference
