#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "schemas/dropped.h"
#include "schemas/field.h"

namespace millrace::schemas {

inline constexpr int kChatTurnsDefault = 10, kChatTurnsMax = 100;
inline constexpr std::size_t kChatModelsMax = 16;  // of a model list
inline constexpr std::size_t kMcpServersMax = 16;

// A server of tools, as the client names it: one of `slug` and `url` is set. `field`: where the client wrote
// it, "mcp_servers.0"; not in a chat_spec.
struct McpServerRef {
  std::string slug = {}, version = {}, url = {}, name = {}, field = {};
};

// What a provider is asked to fetch, and where the client wrote it: "messages.0.content.1.image_url.url".
struct NamedUrl {
  std::string url, field;
};

using Attributes = std::map<std::string, double>;  // 0 to 1 each

// Parameters of a request where they lie in the text that the client sent, each value as it was written there
// and known to be right.
struct ChatText {
  struct Member {
    std::string_view name;  // as ChatRequest::body calls it; a literal
    std::size_t at = 0, size = 0;
  };
  std::string text;
  std::vector<Member> members;   // never empty once read: `messages` is among them
  std::vector<Member> contents;  // of the messages, in their order: what is between the quotes

  bool empty() const { return members.empty(); }
  std::string_view value(const Member& member) const {
    return std::string_view(text).substr(member.at, member.size);
  }
};

// POST /v1/chat/completions, its shape checked (spec; docs/design/http-contract.md §4). What clients may
// write in several ways stands here in one.
struct ChatRequest {
  std::vector<std::string> models;  // the wanted one, then the client's fallbacks; never empty
  // What the model is to be told: the parameters that were given, in OpenAI's present form and by their own
  // names. `messages` is a list (of `messages`, else of `input`); `instructions` and `system` have become its
  // first message, of role system, in their order of precedence; function_call and functions have become
  // tool_choice and tools, a tool_choice of `any` has become `required`, messages of role function have
  // become ones of role tool; `stop` is a list; max_tokens has become max_completion_tokens; null members are
  // gone, and what says the default (response_format text, n of 1, logprobs false, empty lists of tools and
  // of stop). Without model, stream, stream_options, and what is ours alone (docs/design/http-contract.md §4,
  // "our own fields", and disable_automatic_function_calling, which is `execute_tools`). Unknown fields are
  // in it. Content parts have OpenAI's present names (text, image_url as an object, input_audio, file,
  // refusal), or are Mistral's own (thinking).
  nlohmann::json body;
  ChatText quick;  // not empty: all that is told the model is in it, and `body` is null (read_chat_request)
  std::vector<std::string> unknown;  // members of `body` that no row of the table knows
  bool stream = false, include_usage = false, include_obfuscation = false;
  bool has_stream_options = false;  // for streams alone: not in a chat_spec
  bool deferred = false;
  bool strict = false;         // ?strict=true: set by the handler
  std::string tenant;          // who asks: set by the handler and by the runner; not of the spec
  bool old_functions = false;  // asked in the deprecated form: the reply is in it, too
  bool needs_format = false;   // response_format other than text
  int n = 1;
  int priority = 0;  // deferred: -100 to 100
  bool execute_tools = true;
  int max_turns = kChatTurnsDefault;
  std::vector<McpServerRef> mcp_servers;
  std::map<std::string, Attributes> model_attributes;
  Attributes agent_attributes;
  // http and https URLs of images and files, unchecked but for their form. Not in a chat_spec: what is kept
  // has been checked.
  std::vector<NamedUrl> urls;
  // Known without a provider: guardrails, handoff_*, credentials, correlation_id, and the weaker of two
  // parameters that say the same (max_tokens, input, system, messages.system for messages of role system …).
  DroppedParams dropped;
};

// `body` as read_json wants it. Errors: kBadRequest (JSON; `deferred` with `stream`), kInvalidField with its
// problems. Whether the models exist is not its business.
tl::expected<ChatRequest, Refusal> parse_chat_request(std::string& body);

// The same, but a request of the usual form (one model by its name, messages of text, a few numbers; ADR 21)
// is read where it lies, without a tree: it is in `quick`, which takes `body` over.
tl::expected<ChatRequest, Refusal> read_chat_request(std::string& body);
// What `quick` stands for, as `body` would have it; and estimated_tokens of its messages, without that.
nlohmann::json body_of(const ChatText& quick);
std::int64_t estimated_tokens(const ChatText& quick);
void form_body(ChatRequest& request);  // from `quick`, if it is there

// The table of the body, one row per parameter of the spec, in its order; OpenAPI takes its schema from it,
// and from the rows beside them: other names, and what is ours.
std::span<const Field> chat_request_fields();
std::span<const Field> chat_request_more_fields();

// What a deferred request is kept as, and back: the same request. The text is ours alone.
std::string chat_spec(const ChatRequest& request);
base::Result<ChatRequest> chat_request_from_spec(std::string_view spec);

// Member of a message of `body`, put there by the gateway, never by a client: what the provider of an earlier
// turn wants to see again with it (ChatChoice::continuity). Translations take it out.
inline constexpr std::string_view kContinuity = "millrace_continuity";

// Lets a request go on after a turn: the assistant's message with its calls, then each result.
struct ChatChoice;
struct ToolResult {
  std::string call_id;
  std::string text;
};
void append_turn(ChatRequest& request, const ChatChoice& answer, const std::vector<ToolResult>& results);

}  // namespace millrace::schemas
