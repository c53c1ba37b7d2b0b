#include "schemas/chat/file_parts.h"

#include <utility>

#include "schemas/files/stored_file.h"
#include "schemas/machines/artifact.h"
#include "schemas/media/media_type.h"

namespace millrace::schemas {
namespace {

// The id, if this is such a part.
std::optional<base::Uuid> file_of_part(const Json& part) {
  if (!part.is_object() || part.value("type", "") != "file") return std::nullopt;
  const auto file = part.find("file");
  if (file == part.end() || !file->is_object()) return std::nullopt;
  const auto id = file->find("file_id");
  if (id == file->end() || !id->is_string()) return std::nullopt;
  return stored_file_id_from(id->get_ref<const std::string&>());
}

}  // namespace

std::vector<FilePart> file_parts(ChatRequest& request) {
  form_body(request);
  std::vector<FilePart> parts;
  const auto messages = request.body.find("messages");
  if (messages == request.body.end()) return parts;
  for (std::size_t i = 0; i < messages->size(); ++i) {
    const auto content = (*messages)[i].find("content");
    if (content == (*messages)[i].end() || !content->is_array()) continue;
    for (std::size_t j = 0; j < content->size(); ++j) {
      Json& part = (*content)[j];
      if (const auto id = file_of_part(part))
        parts.push_back(
            {*id, &part["file"],
             "messages." + std::to_string(i) + ".content." + std::to_string(j) + ".file.file_id"});
    }
  }
  return parts;
}

void set_file_content(Json& file, const std::string& name, std::string base64) {
  std::string_view type = detect_base64_media_type(base64);
  if (type.empty()) type = mime_type_of(name);
  file["file_data"] = "data:" + std::string(type) + ";base64," + std::move(base64);
  if (!file.contains("filename")) file["filename"] = name;
  file.erase("file_id");
}

}  // namespace millrace::schemas
