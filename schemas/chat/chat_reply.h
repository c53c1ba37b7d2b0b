#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/base/result.h"
#include "schemas/chat/chat_tokens.h"
#include "schemas/json/json.h"

namespace millrace::schemas {

// Token counts in OpenAI's form; absent counts were not returned. `estimated`: the upstream returned none.
struct ChatUsage {
  std::int64_t prompt = 0, completion = 0, total = 0;
  std::optional<std::int64_t> cached = {}, cache_write = {}, reasoning = {}, prompt_audio = {},
                              completion_audio = {}, accepted_prediction = {}, rejected_prediction = {};
  bool estimated = false;
  friend bool operator==(const ChatUsage&, const ChatUsage&) = default;
};
void add(ChatUsage& to, const ChatUsage& usage);  // adds another turn or call of the same request
// Takes a later report of the same call. The larger of each count stays: some upstreams end with zeros.
void update(std::optional<ChatUsage>& usage, const std::optional<ChatUsage>& later);

struct ToolCall {
  std::string id = {};
  std::string type = "function";  // or "custom"
  std::string name = {};
  std::string arguments = {};  // JSON text; for a custom call, its input
  // Other members of the upstream's call, unchanged; `function` has those of its function. Object or null.
  Json extra = {};
  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

struct ChatChoice {
  int index = 0;
  std::optional<std::string> content, refusal;
  std::string reasoning;
  std::vector<ToolCall> tool_calls;
  std::string finish_reason;
  Json logprobs;  // null: none
  Json extra;     // other members of the upstream's message, unchanged; object or null
  std::string
      reasoning_state;  // opaque state for the same provider's next turn (kReasoningStateMember); empty: none
};

// Results of server-side tools in a request.
struct McpToolResult {
  std::string server_name = {}, tool_name = {}, arguments = {};  // arguments: JSON text
  bool is_error = false;
  std::string result = {};  // text; empty: none
  std::vector<std::string> pictures =
      {};  // data URIs for the model; clients get their descriptions in `result`
  std::int64_t duration_ms = 0;
};
struct McpServerError {
  std::string server_name = {}, message = {}, code = {}, recommendation = {};
};
struct ToolReport {
  std::vector<std::string> executed;  // names, in the order of their calls
  std::vector<McpToolResult> results;
  std::vector<McpServerError> errors;
  int turns = 0;  // 0: unknown
};

// A completion in a common form for all providers.
struct ChatReply {
  std::string id;
  std::int64_t created = 0;  // Unix seconds
  std::string model;         // as the upstream returned it
  std::vector<ChatChoice> choices;
  std::optional<ChatUsage> usage;
  std::string service_tier, system_fingerprint;  // empty: not returned
  Json extra;                                    // other members of the response; object or null
  ToolReport tools;
};

// One delta of a streamed completion, for one choice. Empty members: nothing new.
struct ToolCallPiece {
  int index = 0;  // among the choice's calls, from 0 without gaps
  std::string id = {}, type = {}, name = {}, arguments = {};
  Json extra = {};  // see ToolCall
};
struct ChatPiece {
  int index = 0;
  std::optional<std::string> content, refusal;  // set and empty: the upstream sent an empty text
  std::string reasoning;
  std::vector<ToolCallPiece> tool_calls;
  std::string finish_reason;
  Json logprobs, extra;
  std::string reasoning_state;  // with or before the finish_reason
};
// True: nothing but the index is set. An empty text is something: the upstream sent it.
bool is_empty(const ChatPiece& piece);
// True: the piece has no content, only the beginning of a choice. An empty text is nothing.
bool is_blank(const ChatPiece& piece);
// The data of a stream that is known at its end; some members are set at its beginning.
struct ChatMetadata {
  std::string id, model, service_tier, system_fingerprint;
  std::int64_t created = 0;
  std::optional<ChatUsage> usage;
  Json extra;
};

// Merges the unknown members of a delta into those before it: texts and lists are appended, objects merged,
// other values replaced. Does nothing unless `from` is an object and `to` is null or an object.
void merge_members(Json& to, const Json& from);

// Assembles pieces to a completion. Not thread-safe.
class ChatAssembly {
 public:
  void add(const ChatPiece& piece);
  void add(const ChatMetadata& facts);
  ChatReply take();

 private:
  ChatReply reply_;
};

// The API's response (docs/design/http-contract.md §4). `old_functions`: see ChatRequest. Of several calls of
// a choice the old form has only the first; `dropped_calls` has the names of the others.
std::string chat_completion_json(const ChatReply& reply, bool old_functions);

// Builds the events of one streamed response. All have the same id, created and model; each choice's first
// delta has the role. Each function returns complete events, ready to be sent. Not thread-safe.
class ChatChunks {
 public:
  struct Options {
    bool include_usage = false, include_obfuscation = false, old_functions = false;
    // Mistral's form: usage in the chunk with the finish_reason. include_usage takes precedence.
    bool usage_with_reason = false;
  };
  ChatChunks(std::string id, std::int64_t created, std::string model, Options options);

  // A chunk with a finish_reason is held back, because more is added to the last chunk. Returns empty text
  // then, and for a piece without content for clients.
  std::string piece(const ChatPiece& piece);
  // The last chunk, with usage if requested and the extra response fields (tools), then [DONE].
  std::string end(const ChatMetadata& facts, const ToolReport& tools);
  // `event: error` and its data; it ends the stream. `body`: from error_body.
  static std::string error(std::string_view body);
  static constexpr std::string_view kHeartbeat = ": keep-alive\n\n";

 private:
  bool has_begun(int choice) const;
  bool is_first(int choice);
  bool is_custom(int choice, const ToolCallPiece& call);
  void append_calls(std::string& out, const ChatPiece& piece);
  void append_delta(std::string& out, const ChatPiece& piece);
  void release(std::string& out);

  std::string head_;  // the start of every event, up to its choices
  Options options_;
  std::vector<bool> begun_;                  // by choice: its role has been sent
  std::vector<std::pair<int, int>> custom_;  // choice and index of calls that are not functions
  // In the old form: names of calls by choice and index.
  std::map<std::pair<int, int>, std::string> dropped_calls_;
  std::string held_;  // the latest event with a finish_reason, without its end
};

}  // namespace millrace::schemas
