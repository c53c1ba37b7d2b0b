#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "schemas/chat/chat_request.h"
#include "schemas/field.h"
#include "schemas/json/json.h"

// Shared by the files that parse a chat request: the struct that its table fills, and the readers of single
// parameters. Reading validates a tree without long strings (json_body.h). Forming converts the complete,
// validated tree to the form that ChatRequest documents.
namespace millrace::schemas {

struct ChatRequestDraft : ChatRequest {
  bool automatic_off = false, other_execute_tools = true;
  bool logprobs = false;
  bool wants_audio = false;
  bool has_messages = false, has_input = false;      // present and not empty
  std::vector<std::string> tools, functions;         // their names
  std::vector<std::string> chosen, chosen_function;  // names in tool_choice and function_call
};

// The struct that the request's table fills, from the pointer that readers receive.
inline ChatRequestDraft& chat_request_draft(void* object) { return *static_cast<ChatRequestDraft*>(object); }

// Readers of rows; they fill a ChatRequestDraft.
void read_chat_model(void* object, FieldReader& reader, const Json& value);
void read_chat_messages(void* object, FieldReader& reader, const Json& value);
void read_chat_input(void* object, FieldReader& reader, const Json& value);
void read_chat_tools(void* object, FieldReader& reader, const Json& value);
void read_chat_functions(void* object, FieldReader& reader, const Json& value);
void read_tool_choice(void* object, FieldReader& reader, const Json& value);
void read_function_call(void* object, FieldReader& reader, const Json& value);
void read_mcp_servers(void* object, FieldReader& reader, const Json& value);
void read_model_attributes(void* object, FieldReader& reader, const Json& value);
void read_agent_attributes(void* object, FieldReader& reader, const Json& value);
void read_stop(void* object, FieldReader& reader, const Json& value);
void read_logit_bias(void* object, FieldReader& reader, const Json& value);
void read_metadata(void* object, FieldReader& reader, const Json& value);
void read_modalities(void* object, FieldReader& reader, const Json& value);
void read_safety_settings(void* object, FieldReader& reader, const Json& value);
void read_guardrails(void* object, FieldReader& reader, const Json& value);
void read_credentials(void* object, FieldReader& reader, const Json& value);
void read_word(void* object, FieldReader& reader, const Json& value);
void read_voice(void* object, FieldReader& reader, const Json& value);
void read_prediction_content(void* object, FieldReader& reader, const Json& value);
void read_response_format(void* object, FieldReader& reader, const Json& value);

// Reads a message's `content`: a string, or a list of the parts allowed for the role. `urls` receives the
// URLs of the parts.
enum class ContentOf : std::uint8_t { kSystem, kUser, kAssistant, kTool };
ContentOf content_of(std::string_view role);
void read_content(FieldReader& reader, const Json& value, ContentOf role, std::vector<NamedUrl>& urls);

// Reads a string of 1 to `max` bytes; for anything else it reports a problem and returns nullopt.
std::optional<std::string_view> read_name(FieldReader& reader, const Json& value, std::int64_t max);

// Forming. Each function converts its part of the complete tree to the current form.
void form_messages(Json& messages);  // of `messages`, a list
Json messages_of_input(Json input, DroppedParams& dropped);
void form_functions(Json& body, ChatRequest& out);  // functions and function_call
void form_tool_choice(Json& body);

}  // namespace millrace::schemas
