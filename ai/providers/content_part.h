#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"
#include "platform/base/result.h"

namespace millrace::providers {

// One parsed part of a message's content in OpenAI's format. Views and pointers refer to the message.
struct ContentPart {
  enum class Kind : std::uint8_t { kText, kImage, kAudio, kFile };
  Kind kind = Kind::kText;
  std::string_view text;  // kText
  // The other kinds have one of these: bytes, a URL, or the file id of the provider.
  std::string media_type;  // empty: not given
  std::string charset;     // of the media type; lower-case, empty: not given
  std::string_view base64, url, file_id;
  std::string_view file_name;
  std::string_view detail;  // kImage
  const Json* cache_control = nullptr;
};

// Reads content. A string is one text part; absent content has no parts. kInvalidField: a part is not one of
// OpenAI's, or a data URI is not base64. Thinking parts are left out and reported, because no provider
// accepts those of another.
base::Result<std::vector<ContentPart>> read_content(const Json* content, Parameters& report);

// True if the text is empty or only white space.
bool is_blank(std::string_view text);
bool starts_without_case(std::string_view text, std::string_view start);
// The media type for the extension of a URL path or file name; empty: unknown.
std::string_view media_type_named(std::string_view name);
// Where a provider fetches a file of a part; empty: nowhere. Some clients send the URL as file_data.
std::string_view file_address(const Json& file);
// The usual extension of a media type, with its dot; empty: unknown.
std::string_view extension_of(std::string_view media_type);

}  // namespace millrace::providers
