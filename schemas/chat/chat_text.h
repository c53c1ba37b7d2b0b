#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schemas/chat/chat_reply.h"
#include "schemas/json/json.h"

// Writes the JSON of chat responses, whole and streamed. It is written directly, because a tree for every
// piece of every stream would cost more than the piece.
namespace millrace::schemas {

// Appends a JSON string; bytes that are not UTF-8 become U+FFFD.
void append_clean(std::string& out, std::string_view text);
// Appends `,"name":"text"`.
void append_member(std::string& out, std::string_view name, std::string_view text);
// Appends the members of `extra` (an object or null), each as `,"name":value`, except those in `taken`.
void append_extra(std::string& out, const Json& extra, std::span<const std::string_view> taken);

// Appends an object, or null if there is no usage.
void append_usage(std::string& out, const std::optional<ChatUsage>& usage);
// Appends the response members outside the choices: `,"service_tier":…` and so on; empty ones are omitted.
void append_facts(std::string& out, std::string_view service_tier, std::string_view system_fingerprint,
                  const Json& extra, const ToolReport& tools);

// The finish reason for clients: in the old form, tool_calls becomes function_call.
std::string_view shown_finish(std::string_view reason, bool old_functions);

}  // namespace millrace::schemas
