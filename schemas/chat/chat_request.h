#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "schemas/dropped.h"
#include "schemas/field.h"
#include "schemas/jobs/job_start.h"
#include "schemas/json/json.h"
#include "schemas/key_access.h"

namespace millrace::schemas {

inline constexpr int kChatTurnsDefault = 10, kChatTurnsMax = 100;
inline constexpr std::size_t kChatModelsMax = 16;  // of a model list
inline constexpr std::size_t kMcpServersMax = 16;

// An MCP server as the client specifies it: either `slug` or `url` is set. `field`: its position in the
// request, "mcp_servers.0"; not part of a chat_spec.
struct McpServerRef {
  std::string slug = {}, version = {}, url = {}, name = {}, field = {};
};

// A URL that a provider has to fetch, and its position in the request: "messages.0.content.1.image_url.url".
struct NamedUrl {
  std::string url, field;
};

using Attributes = std::map<std::string, double>;  // 0 to 1 each

// Parameters of a request as positions in the client's text. Each value is unchanged and already validated.
struct ChatText {
  struct Member {
    std::string_view name;  // the name in ChatRequest::body; a literal
    std::size_t at = 0, size = 0;
  };
  std::string text;
  std::vector<Member> members;   // never empty after parsing: includes `messages`
  std::vector<Member> contents;  // of the messages, in order; without the quotes

  bool empty() const { return members.empty(); }
  std::string_view value(const Member& member) const {
    return std::string_view(text).substr(member.at, member.size);
  }
};

// A validated POST /v1/chat/completions (spec; docs/design/http-contract.md §4). Alternative forms of the
// request are normalised to one form.
struct ChatRequest {
  std::vector<std::string> models;  // the requested model, then the client's fallbacks; never empty
  // The parameters for the model that were given, in OpenAI's current form and with OpenAI's names:
  // - `messages` is a list (from `messages`, otherwise from `input`).
  // - `instructions` or `system`, in this order of precedence, is the first message, with role system.
  // - function_call and functions are converted to tool_choice and tools, the tool_choice `any` to
  //   `required`, and messages of role function to role tool.
  // - `stop` is a list. max_tokens is converted to max_completion_tokens.
  // - Null members are removed, and so are defaults (response_format text, n of 1, logprobs false, empty
  //   lists of tools and of stop).
  // - model, stream, stream_options and the gateway's own fields are not included
  //   (docs/design/http-contract.md §4, "our own fields", and disable_automatic_function_calling, which is
  //   `execute_tools`). Unknown fields are included.
  // - Content parts have OpenAI's current names (text, image_url as an object, input_audio, file, refusal),
  //   or are specific to Mistral (thinking).
  Json body;
  ChatText quick;  // the parameters as the client's text, if no tree was needed; then `body` is null until
                   // form_body
  std::vector<std::string> unknown;  // members of `body` that have no row in the table
  bool stream = false, include_usage = false, include_obfuscation = false;
  bool has_stream_options = false;  // for streams only: not part of a chat_spec
  bool deferred = false;
  std::optional<JobStart> start;  // of a deferred request; not part of a chat_spec
  std::string metadata;           // as JSON, for the job; empty: none. `body` has it, too
  bool strict = false;            // ?strict=true: set by the handler
  std::string tenant;             // set by the handler and by the runner; not part of the spec
  AllowList allowed_models;       // of the key, set by the handler; also for fallbacks
  AllowList allowed_servers;      // MCP servers; set by the handler, not part of the spec
  bool cap_output = false;        // always send a limit of the answer (output_cap): set by the caller
  bool old_functions = false;     // the request used the deprecated form; the response uses it too
  bool needs_format = false;      // response_format is not text
  int n = 1;
  int priority = 0;  // deferred: -100 to 100
  bool execute_tools = true;
  int max_turns = kChatTurnsDefault;
  std::vector<McpServerRef> mcp_servers;
  std::map<std::string, Attributes> model_attributes;
  Attributes agent_attributes;
  // http and https URLs of images and files; only their syntax was checked. Not part of a chat_spec, because
  // a stored request has been checked.
  std::vector<NamedUrl> urls;
  // Parameters dropped for every provider: guardrails, handoff_*, deferred_*, credentials, correlation_id,
  // and, of two parameters with the same meaning, the one of lower precedence (max_tokens, input, system,
  // messages.system for messages of role system …).
  DroppedParams dropped;
};

// `body`: see read_json. Errors: kBadRequest (JSON; `deferred` with `stream`), kInvalidField with its
// problems. It does not check whether the models exist.
tl::expected<ChatRequest, Refusal> parse_chat_request(std::string& body);

// The same, but a request of the common form (one model by name, text messages, a few numbers; ADR 21) is
// parsed in place, without a tree: it is in `quick`, which takes over `body`.
tl::expected<ChatRequest, Refusal> read_chat_request(std::string& body);
// Converts `quick` to the form of ChatRequest::body; and estimates the tokens of its messages without that.
Json body_of(const ChatText& quick);
std::int64_t estimated_tokens(const ChatText& quick);
void form_body(ChatRequest& request);  // sets `body` from `quick`, if `quick` is not empty

// The table of the body, one row per parameter of the spec, in the spec's order. The second table has
// alternative names and the gateway's own fields. OpenAPI's schema is generated from both.
std::span<const Field> chat_request_fields();
std::span<const Field> chat_request_more_fields();

// Serialises a deferred request for the job's row, and parses it again. The format is internal.
std::string chat_spec(const ChatRequest& request);
base::Result<ChatRequest> chat_request_from_spec(std::string_view spec);

// A member of a message in `body` that only the gateway sets, never a client. It holds the state that the
// provider of an earlier turn requires to be sent back (ChatChoice::reasoning_state). Translations remove it.
inline constexpr std::string_view kReasoningStateMember = "millrace_continuity";

// Appends a turn to a request: the assistant's message with its calls, then each result.
struct ChatChoice;
struct ToolResult {
  std::string call_id;
  std::string text;
  std::vector<std::string> pictures = {};  // data URIs
};
// Private member of a tool message: the pictures of its result, a list of data URIs. A translation sends them
// if the model sees (providers/tool_pictures.h).
inline constexpr std::string_view kPicturesMember = "millrace_pictures";
void append_turn(ChatRequest& request, const ChatChoice& answer, const std::vector<ToolResult>& results);

}  // namespace millrace::schemas
