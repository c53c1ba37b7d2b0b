#pragma once
#include <string>
#include <vector>

#include "platform/base/ids.h"
#include "schemas/chat/chat_request.h"

namespace millrace::schemas {

// A content part of type `file` whose `file_id` is one of /v1/files.
struct FilePart {
  base::Uuid id;
  Json* file;         // its member `file`; valid until the request's body changes
  std::string place;  // "messages.0.content.1.file.file_id"
};

// All of them, in order. Sets `body` (form_body).
std::vector<FilePart> file_parts(ChatRequest& request);

// Puts the content in place of the id, as a data URI with the type that its first bytes or its name show.
void set_file_content(Json& file, const std::string& name, std::string base64);

}  // namespace millrace::schemas
