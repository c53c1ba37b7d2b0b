#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schemas/chat/chat_request.h"

namespace millrace::inference {

// A hash of a tool call and of everything before it: the tenant, all earlier messages, the call's id, name
// and arguments. It depends on what they mean, not on how they are written: arguments are parsed, so blanks,
// escapes, the order of members and the spelling of numbers make no difference, and "" is {}. Content may be
// a text or a list of text parts. Members that a client may leave out of its history (reasoning, annotations,
// cache marks) are not part of it. Differs from process to process.
struct CallDigest {
  std::uint64_t low = 0, high = 0;
  friend auto operator<=>(const CallDigest&, const CallDigest&) = default;
};

// The conversation that a client has sent. Takes time in proportion to its size.
class Conversation {
 public:
  // An assistant's message with calls. `message`: its index in the request.
  struct Turn {
    std::size_t message = 0;
    std::vector<CallDigest> calls = {};
  };
  struct Call {
    std::string_view id, name, arguments;  // arguments: JSON text; of a custom call, its input
    bool custom = false;
  };

  Conversation() = default;
  explicit Conversation(const schemas::ChatRequest& request);

  const std::vector<Turn>& turns() const { return turns_; }
  // Of a call of the answer. nullopt: the messages are unknown (ChatRequest::quick).
  std::optional<CallDigest> digest_of(const Call& call) const;

 private:
  std::vector<Turn> turns_;
  std::optional<CallDigest> all_messages_;
};

}  // namespace millrace::inference
