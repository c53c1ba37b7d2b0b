#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "platform/base/result.h"
#include "schemas/chat/chat_tokens.h"

namespace millrace::schemas {

// Token counts as OpenAI says them; absent ones were not said. `estimated`: the upstream gave none.
struct ChatUsage {
  std::int64_t prompt = 0, completion = 0, total = 0;
  std::optional<std::int64_t> cached = {}, reasoning = {}, prompt_audio = {}, completion_audio = {},
                              accepted_prediction = {}, rejected_prediction = {};
  bool estimated = false;
  friend bool operator==(const ChatUsage&, const ChatUsage&) = default;
};
void add(ChatUsage& to, const ChatUsage& usage);  // of another turn or another call of one request

struct ToolCall {
  std::string id = {};
  std::string type = "function";  // or "custom"
  std::string name = {};
  std::string arguments = {};  // JSON text; of a custom call its input
  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

struct ChatChoice {
  int index = 0;
  std::optional<std::string> content, refusal;
  std::string reasoning;
  std::vector<ToolCall> tool_calls;
  std::string finish_reason;
  nlohmann::json logprobs;  // null: none
  nlohmann::json extra;     // other members of the message, as the upstream said them; object or null
  std::string continuity;   // opaque, for the same provider's next turn (kContinuity); empty: none
};

// What server-side tools have done in a request.
struct McpToolResult {
  std::string server_name = {}, tool_name = {}, arguments = {};  // arguments: JSON text
  bool is_error = false;
  std::string result = {};  // text; empty: none
  std::int64_t duration_ms = 0;
};
struct McpServerError {
  std::string server_name = {}, message = {}, code = {}, recommendation = {};
};
struct ToolReport {
  std::vector<std::string> executed;  // names, in the order of their calls
  std::vector<McpToolResult> results;
  std::vector<McpServerError> errors;
  int turns = 0;  // 0: not said
};

// A completion, from whatever provider, in one form.
struct ChatReply {
  std::string id;
  std::int64_t created = 0;  // Unix seconds
  std::string model;         // as the upstream says it
  std::vector<ChatChoice> choices;
  std::optional<ChatUsage> usage;
  std::string service_tier, system_fingerprint;  // empty: not said
  nlohmann::json extra;                          // other members of the reply; object or null
  ToolReport tools;
};

// One step of a streamed completion: what is new in one choice. Empty members: nothing new.
struct ToolCallPiece {
  int index = 0;  // among the choice's calls, gap-free from 0
  std::string id = {}, type = {}, name = {}, arguments = {};
};
struct ChatPiece {
  int index = 0;
  std::optional<std::string> content, refusal;  // set and empty: said to be empty
  std::string reasoning;
  std::vector<ToolCallPiece> tool_calls;
  std::string finish_reason;
  nlohmann::json logprobs, extra;
  std::string continuity;  // with or before the finish_reason
};
// What is known once a stream has ended (or has begun: the members that are set then).
struct ChatFacts {
  std::string id, model, service_tier, system_fingerprint;
  std::int64_t created = 0;
  std::optional<ChatUsage> usage;
  nlohmann::json extra;
};

// Pieces put together again. Not thread-safe.
class ChatAssembly {
 public:
  void add(const ChatPiece& piece);
  void add(const ChatFacts& facts);
  ChatReply take();

 private:
  ChatReply reply_;
};

// The forms that clients see (docs/design/http-contract.md §4); `old_functions` as ChatRequest's.
std::string chat_completion_json(const ChatReply& reply, bool old_functions);

// The events of one streamed answer: the same id, created and model throughout, the role in each choice's
// first delta. Each function gives whole events, ready to be sent. Not thread-safe.
class ChatChunks {
 public:
  struct Options {
    bool include_usage = false, include_obfuscation = false, old_functions = false;
    // Mistral's way: usage in the chunk with the finish_reason. include_usage wins over it.
    bool usage_with_reason = false;
  };
  ChatChunks(std::string id, std::int64_t created, std::string model, Options options);

  // A finish_reason waits for what follows it, since the last chunk carries more: empty then, and for a
  // piece that has nothing for clients.
  std::string piece(const ChatPiece& piece);
  // The last chunk before [DONE]: usage if asked for, and the extra reply fields (tools); then [DONE].
  std::string end(const ChatFacts& facts, const ToolReport& tools);
  // `event: error` and its data; nothing follows it. `body`: of error_body.
  static std::string error(std::string_view body);
  static constexpr std::string_view kHeartbeat = ": keep-alive\n\n";

 private:
  bool has_begun(int choice) const;
  bool is_first(int choice);
  bool is_custom(int choice, const ToolCallPiece& call);
  void append_calls(std::string& out, const ChatPiece& piece);
  void append_delta(std::string& out, const ChatPiece& piece);
  void release(std::string& out);

  std::string head_;  // of every event, up to its choices
  Options options_;
  std::vector<bool> begun_;                  // by choice: its role has been said
  std::vector<std::pair<int, int>> custom_;  // choice and index of calls that are no functions
  std::string held_;                         // the newest event with a finish_reason, without its end
};

}  // namespace millrace::schemas
