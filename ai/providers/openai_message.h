#pragma once
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "ai/providers/provider.h"
#include "schemas/chat_reply.h"

namespace millrace::providers {

inline constexpr std::size_t kToolCallsMax = 1'024;  // of a choice

// kUpstream: a choice of more.
base::Error too_many_calls(const Target& target);

// Reads one choice's message, or its deltas one after the other, into pieces; keeps count of the tool calls.
class MessageReader {
 public:
  // `message` is used up. False: more than kToolCallsMax calls; nothing more is read.
  bool read(nlohmann::json& message, schemas::ChatPiece& piece);
  // The end of `read`, for a piece that was read otherwise: "" is news in a choice's first piece only.
  void heard(schemas::ChatPiece& piece);
  bool has_calls() const { return !calls_.empty(); }

 private:
  struct Call {
    std::int64_t upstream_index = -1;  // -1: it said none
    std::string id = {};               // as the upstream said it; may be empty
    bool named = false;
  };

  void read_content(nlohmann::json& content, schemas::ChatPiece& piece);
  bool read_calls(nlohmann::json& message, schemas::ChatPiece& piece);
  bool read_call(nlohmann::json& call, schemas::ChatPiece& piece);
  std::size_t call_of(const nlohmann::json& call, const std::string& id, bool has_name);

  std::vector<Call> calls_;
  bool begun_ = false;
};

}  // namespace millrace::providers
