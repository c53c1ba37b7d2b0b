#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "schemas/chat/chat_request.h"
#include "schemas/field.h"

// Between the files that read a chat request: what its table fills, and the readers of single parameters.
// Reading checks a tree in which long strings are not (json_body.h); forming brings the whole tree, known to
// be right, into the one form that ChatRequest promises.
namespace millrace::schemas {

struct ChatRequestDraft : ChatRequest {
  bool automatic_off = false, other_execute_tools = true;
  bool logprobs = false;
  bool wants_audio = false;
  bool has_messages = false, has_input = false;      // given and not empty
  std::vector<std::string> tools, functions;         // names that were given
  std::vector<std::string> chosen, chosen_function;  // names that tool_choice and function_call say
};

// What a table of the request fills, as its readers are given it.
inline ChatRequestDraft& chat_request_draft(void* object) { return *static_cast<ChatRequestDraft*>(object); }

inline constexpr std::string_view kHandoffPrefix = "handoff_";

// Readers of rows, for ChatWanted.
void read_chat_model(void* object, FieldReader& reader, const nlohmann::json& value);
void read_chat_messages(void* object, FieldReader& reader, const nlohmann::json& value);
void read_chat_input(void* object, FieldReader& reader, const nlohmann::json& value);
void read_chat_tools(void* object, FieldReader& reader, const nlohmann::json& value);
void read_chat_functions(void* object, FieldReader& reader, const nlohmann::json& value);
void read_tool_choice(void* object, FieldReader& reader, const nlohmann::json& value);
void read_function_call(void* object, FieldReader& reader, const nlohmann::json& value);
void read_mcp_servers(void* object, FieldReader& reader, const nlohmann::json& value);
void read_model_attributes(void* object, FieldReader& reader, const nlohmann::json& value);
void read_agent_attributes(void* object, FieldReader& reader, const nlohmann::json& value);
void read_stop(void* object, FieldReader& reader, const nlohmann::json& value);
void read_logit_bias(void* object, FieldReader& reader, const nlohmann::json& value);
void read_metadata(void* object, FieldReader& reader, const nlohmann::json& value);
void read_modalities(void* object, FieldReader& reader, const nlohmann::json& value);
void read_safety_settings(void* object, FieldReader& reader, const nlohmann::json& value);
void read_guardrails(void* object, FieldReader& reader, const nlohmann::json& value);
void read_credentials(void* object, FieldReader& reader, const nlohmann::json& value);
void read_word(void* object, FieldReader& reader, const nlohmann::json& value);
void read_voice(void* object, FieldReader& reader, const nlohmann::json& value);
void read_prediction_content(void* object, FieldReader& reader, const nlohmann::json& value);
void read_response_format(void* object, FieldReader& reader, const nlohmann::json& value);

// A message's `content`: a string, or a list of parts that its role may have. `urls` gets those of its parts.
enum class ContentOf : std::uint8_t { kSystem, kUser, kAssistant, kTool };
ContentOf content_of(std::string_view role);
void read_content(FieldReader& reader, const nlohmann::json& value, ContentOf role,
                  std::vector<NamedUrl>& urls);

// A string of 1 to `max` bytes; nullopt and a problem for anything else.
std::optional<std::string_view> read_name(FieldReader& reader, const nlohmann::json& value, std::int64_t max);

// Forming. Each takes the body as a whole tree and leaves it in the present form.
void form_messages(nlohmann::json& messages);  // of `messages`, a list
nlohmann::json messages_of_input(nlohmann::json input, DroppedParams& dropped);
void form_functions(nlohmann::json& body, ChatRequest& out);  // functions and function_call
void form_tool_choice(nlohmann::json& body);

}  // namespace millrace::schemas
