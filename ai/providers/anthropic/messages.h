#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/anthropic/model.h"
#include "ai/providers/content_part.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"
#include "platform/base/result.h"

namespace millrace::providers {

// Content blocks of one message; blank text gives none. Errors as in anthropic_turns.
base::Result<Json> anthropic_blocks(const Json* content, Parameters& report, bool& names_files);
Json anthropic_text_block(std::string_view text, const Json* cache_control);

// A conversation in Anthropic's format.
struct AnthropicMessages {
  Json system = Json::array();  // text blocks; may be empty
  Json messages = Json::array();
  bool names_files = false;  // needs the beta header of the Files API
  // The conversation ends inside a tool turn in which no thinking precedes the calls.
  bool lacks_thinking = false;
};

// `messages`: in OpenAI's format. kInvalidField: content that Anthropic does not support (audio, unsupported
// file types).
base::Result<AnthropicMessages> anthropic_messages(const Json& messages, const ClaudeModel& model,
                                                   Parameters& report);

// Converts an id to the characters that Anthropic accepts: letters, digits, '-' and '_'. Others become '_'
// and their hexadecimal code.
std::string anthropic_call_id(std::string_view id);

}  // namespace millrace::providers
