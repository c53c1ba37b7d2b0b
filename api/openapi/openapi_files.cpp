#include <nlohmann/json.hpp>

#include "api/openapi/openapi.h"
#include "schemas/files/stored_file.h"

namespace millrace::api {
namespace {

using nlohmann::json;

constexpr std::string_view kFileSchemas = R"json({
  "File": {"type": "object",
    "required": ["id", "object", "bytes", "created_at", "filename", "purpose", "status", "sha256"], "properties": {
      "id": {"type": "string"}, "object": {"const": "file"}, "bytes": {"type": "integer"},
      "created_at": {"type": "integer", "description": "Unix seconds"},
      "expires_at": {"type": ["integer", "null"], "description": "Unix seconds; null: it is kept"},
      "filename": {"type": "string"}, "purpose": {"type": "string"}, "status": {"const": "processed"},
      "source": {"const": "upload"}, "sample_type": {"type": "string", "description": "Mistral's word for what it contains"},
      "mimetype": {"type": "string", "description": "By the ending of its name"},
      "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}, "deleted": {"const": false}}},
  "FileList": {"type": "object", "required": ["object", "data", "has_more", "total"], "properties": {
    "object": {"const": "list"}, "data": {"type": "array", "items": {"$ref": "#/components/schemas/File"}},
    "has_more": {"type": "boolean"}, "first_id": {"type": "string"}, "last_id": {"type": "string"},
    "total": {"type": "integer", "description": "Of all pages, counted up to 100,000"}}},
  "DeletedFile": {"type": "object", "required": ["id", "object", "deleted"], "properties": {
    "id": {"type": "string"}, "object": {"const": "file"}, "deleted": {"const": true}}},
  "FileUrl": {"type": "object", "required": ["url"], "properties": {"url": {"type": "string"}}}
})json";

}  // namespace

json openapi_file_schemas() {
  json shapes = json::parse(kFileSchemas);
  shapes["FileForm"] = schemas::json_schema(schemas::file_upload_fields());
  return shapes;
}

}  // namespace millrace::api
