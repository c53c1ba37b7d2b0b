#include <array>

#include "api/handlers.h"
#include "api/media/signed_url.h"
#include "api/routing/content_replies.h"
#include "api/routing/route.h"
#include "schemas/files/stored_file.h"

namespace millrace::api {
namespace {

using schemas::Scope;

// The file, and a form around it.
constexpr std::size_t kFileBody = static_cast<std::size_t>(schemas::kStoredFileBytesMax) + kSmallBody;

constexpr std::string_view kFileExample =
    R"({"id":"file-01932b6c-8a00-7000-8000-000000000001","object":"file","bytes":48211,"created_at":1738310400,)"
    R"("expires_at":null,"filename":"invoice.pdf","purpose":"ocr","status":"processed","source":"upload","sample_type":"ocr_input",)"
    R"("mimetype":"application/pdf","sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","deleted":false})";
constexpr std::array kFileReplies{ReplySpec{200, "The file", kJsonType, "File", kFileExample}};
constexpr std::array kFileListReplies{ReplySpec{200, "One page of files", kJsonType, "FileList"}};
constexpr std::array kDeletedFileReplies{ReplySpec{200, "The file is deleted", kJsonType, "DeletedFile"}};
constexpr std::array kFileUrlReplies{ReplySpec{200, "The URL", kJsonType, "FileUrl"}};
constexpr std::array kFileContentReplies = content_replies(kJsonType, "Error");

constexpr std::string_view kUploadAbout =
    "The file is stored as it arrives, and counts against `stored_bytes` of the tenant and the key until it "
    "is "
    "deleted or expires. The reply has the members of OpenAI's and of Mistral's file object.";
constexpr std::string_view kUrlAbout =
    "As Mistral's API: whoever has the URL may download the file without a key, until the URL or the file "
    "expires.";

// clang-format off
const std::array kFileRoutes{
    Route{Method::kPost, "/v1/files", Access::kScope, Scope::kFilesWrite, BodyKind::kFileForm, kFileBody, Lane::kFront,
          &upload_stored_file,
          {.id = "createStoredFile", .tag = "stored files", .summary = "Upload a file", .replies = kFileReplies,
           .headers = "IdempotencyKeyReply", .body = "FileForm", .state = true, .job = JobReplies::kReplayed, .about = kUploadAbout}},
    get("/v1/files", Scope::kFilesRead, Lane::kPool, &list_stored_files,
        {.id = "listStoredFiles", .tag = "stored files", .summary = "List files", .replies = kFileListReplies,
         .query = stored_file_list_fields()}),
    get("/v1/files/{file_id}", Scope::kFilesRead, Lane::kPool, &get_stored_file,
        {.id = "getStoredFile", .tag = "stored files", .summary = "Get a file's description", .replies = kFileReplies}),
    delete_route("/v1/files/{file_id}", Scope::kFilesWrite, Lane::kFront, &delete_stored_file,
        {.id = "deleteStoredFile", .tag = "stored files", .summary = "Delete a file", .replies = kDeletedFileReplies,
         .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kReplayed}),
    get("/v1/files/{file_id}/content", Scope::kFilesRead, Lane::kPool, &stored_file_content,
        {.id = "getStoredFileContent", .tag = "stored files", .summary = "Download a file", .replies = kFileContentReplies,
         .headers = "Range IfRange IfNoneMatch"}),
    get("/v1/files/{file_id}/url", Scope::kFilesRead, Lane::kPool, &stored_file_url,
        {.id = "getStoredFileUrl", .tag = "stored files", .summary = "Get a URL to download a file without a key",
         .replies = kFileUrlReplies, .query = stored_file_url_fields(), .about = kUrlAbout}),
    Route{Method::kGet, "/v1/files/signed/{signed_id}", Access::kOpen, Scope::kFilesRead, BodyKind::kNone, kSmallBody, Lane::kPool,
          &signed_file_content,
          {.id = "getSignedStoredFile", .tag = "stored files", .summary = "Download a file by its signed URL",
           .replies = kFileContentReplies, .query = signed_url_fields(), .headers = "Range IfRange IfNoneMatch"}},
};
// clang-format on

}  // namespace

std::span<const Route> file_routes() { return kFileRoutes; }

}  // namespace millrace::api
