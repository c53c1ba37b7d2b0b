#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "schemas/chat/chat_reply.h"

// The text that both forms of a chat answer, whole and streamed, are made of. Written directly: a tree for
// every piece of every stream would cost more than the piece.
namespace millrace::schemas {

// Appends a JSON string; bytes that are not UTF-8 become U+FFFD.
void append_clean(std::string& out, std::string_view text);
// Appends `,"name":"text"`.
void append_member(std::string& out, std::string_view name, std::string_view text);
// Appends the members of `extra` (an object or null), `,"name":value` each, without those in `taken`.
void append_extra(std::string& out, const nlohmann::json& extra, std::span<const std::string_view> taken);

// An object, or null for none.
void append_usage(std::string& out, const std::optional<ChatUsage>& usage);
// The members of a reply that are not about one choice: `,"service_tier":…` and on; empty ones are left out.
void append_facts(std::string& out, std::string_view service_tier, std::string_view system_fingerprint,
                  const nlohmann::json& extra, const ToolReport& tools);

// What a client sees as the reason: in the old form calls are a function_call.
std::string_view shown_finish(std::string_view reason, bool old_functions);

}  // namespace millrace::schemas
