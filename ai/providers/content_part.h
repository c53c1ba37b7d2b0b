#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/json_access.h"
#include "ai/providers/parameters.h"
#include "platform/base/result.h"

namespace millrace::providers {

// One part of a message's content, in OpenAI's form, read. Views and pointers lead into the message.
struct ContentPart {
  enum class Kind : std::uint8_t { kText, kImage, kAudio, kFile };
  Kind kind = Kind::kText;
  std::string_view text;  // kText
  // One of these for the others: bytes, an address, or the provider's own name of a file.
  std::string media_type;  // empty: not said
  std::string_view base64, url, file_id;
  std::string_view file_name;
  std::string_view detail;  // kImage
  const Json* cache_control = nullptr;
};

// A string is one text part; absent content has none. kInvalidField: a part that is none of OpenAI's, or a
// data URI that is no base64. Parts of thinking are left out and reported: no provider takes another's.
base::Result<std::vector<ContentPart>> read_content(const Json* content, Parameters& report);

// Blank: nothing, or white space alone.
bool is_blank(std::string_view text);
bool starts_without_case(std::string_view text, std::string_view start);
// Of a URL's path or a file's name, by its ending; empty: unknown.
std::string_view media_type_named(std::string_view name);

}  // namespace millrace::providers
