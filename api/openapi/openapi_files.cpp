#include <nlohmann/json.hpp>

#include "api/openapi/openapi.h"
#include "schemas/files/multipart_upload.h"
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
  "MultipartUpload": {"type": "object",
    "required": ["id", "object", "bytes", "created_at", "expires_at", "filename", "purpose", "status", "file"], "properties": {
      "id": {"type": "string"}, "object": {"const": "upload"}, "bytes": {"type": "integer", "description": "Of the whole file"},
      "created_at": {"type": "integer", "description": "Unix seconds"},
      "expires_at": {"type": "integer", "description": "Unix seconds; until then it must be completed"},
      "filename": {"type": "string"}, "purpose": {"type": "string"},
      "status": {"enum": ["pending", "completed", "cancelled", "expired"]},
      "file": {"anyOf": [{"$ref": "#/components/schemas/File"}, {"type": "null"}], "description": "Of a completed one"}}},
  "UploadPart": {"type": "object", "required": ["id", "object", "created_at", "upload_id"], "properties": {
    "id": {"type": "string"}, "object": {"const": "upload.part"},
    "created_at": {"type": "integer", "description": "Unix seconds"}, "upload_id": {"type": "string"}}},
  "FileUrl": {"type": "object", "required": ["url"], "properties": {"url": {"type": "string"}}}
})json";

}  // namespace

json openapi_file_schemas() {
  json shapes = json::parse(kFileSchemas);
  shapes["FileForm"] = schemas::json_schema(schemas::file_upload_fields());
  shapes["UploadRequest"] = schemas::json_schema(schemas::upload_request_fields());
  shapes["UploadPartForm"] = schemas::json_schema(schemas::upload_part_fields());
  shapes["UploadCompletion"] = schemas::json_schema(schemas::upload_completion_fields());
  return shapes;
}

}  // namespace millrace::api
