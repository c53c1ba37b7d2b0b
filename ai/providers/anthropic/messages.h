#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/content_part.h"
#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"
#include "platform/base/result.h"

namespace millrace::providers {

// Content blocks of one message; blank text has none. Errors as anthropic_turns.
base::Result<Json> anthropic_blocks(const Json* content, Parameters& report, bool& names_files);
Json anthropic_text_block(std::string_view text, const Json* cache_control);

// A conversation in Anthropic's form.
struct AnthropicMessages {
  Json system = Json::array();  // text blocks; may be empty
  Json messages = Json::array();
  bool names_files = false;  // the Files API's beta
  bool thoughtless =
      false;  // it ends within a tool turn of the model's that has no thinking before its calls
};

// `messages`: OpenAI's list. Errors: kInvalidField, what Anthropic cannot be told (audio; a file of a kind it
// does not read).
base::Result<AnthropicMessages> anthropic_messages(const Json& messages, Parameters& report);

// An id as Anthropic takes one: letters, digits, '-' and '_'; others become '_' and their hexadecimal code.
std::string anthropic_call_id(std::string_view id);

}  // namespace millrace::providers
