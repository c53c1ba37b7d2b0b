#pragma once
#include <memory>

#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"

namespace millrace::providers {

// Translation::chat_reply and ::stream_reader for Gemini's generateContent. `target` outlives the reader.
base::Result<schemas::ChatReply> gemini_reply(const Target& target, std::string_view body);
std::unique_ptr<StreamReader> gemini_stream(const Target& target);
// Translation::reply_usage.
std::optional<schemas::ChatUsage> gemini_reply_usage(const Json& reply);

// Translation::error_message.
std::string gemini_error_message(std::string_view body);

// Reads id, model, tier and token counts, as far as `answer` has them.
void take_gemini_facts(const Json& answer, schemas::ChatMetadata& facts);

}  // namespace millrace::providers
