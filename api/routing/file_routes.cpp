#include <array>

#include "api/handlers.h"
#include "api/media/signed_url.h"
#include "api/routing/content_replies.h"
#include "api/routing/route.h"
#include "schemas/files/multipart_upload.h"
#include "schemas/files/stored_file.h"

namespace millrace::api {
namespace {

using schemas::Scope;

// The file, and a form around it.
constexpr std::size_t kFileBody = static_cast<std::size_t>(schemas::kStoredFileBytesMax) + kSmallBody;

// A part, and a form around it.
constexpr std::size_t kPartBody = static_cast<std::size_t>(schemas::kUploadPartBytesMax) + kSmallBody;

constexpr std::string_view kFileExample =
    R"({"id":"file-01932b6c-8a00-7000-8000-000000000001","object":"file","bytes":48211,"created_at":1738310400,)"
    R"("expires_at":null,"filename":"invoice.pdf","purpose":"ocr","status":"processed","source":"upload","sample_type":"ocr_input",)"
    R"("mimetype":"application/pdf","sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","deleted":false})";
constexpr std::array kFileReplies{ReplySpec{200, "The file", kJsonType, "File", kFileExample}};
constexpr std::array kFileListReplies{ReplySpec{200, "One page of files", kJsonType, "FileList"}};
constexpr std::array kDeletedFileReplies{ReplySpec{200, "The file is deleted", kJsonType, "DeletedFile"}};
constexpr std::array kFileUrlReplies{ReplySpec{200, "The URL", kJsonType, "FileUrl"}};
constexpr std::array kFileContentReplies = content_replies(kJsonType, "Error");

constexpr std::array kUploadReplies{ReplySpec{200, "The upload", kJsonType, "MultipartUpload"}};
constexpr std::array kPartReplies{ReplySpec{200, "The part", kJsonType, "UploadPart"}};
constexpr std::array kCompletedReplies{
    ReplySpec{200, "The upload and its file", kJsonType, "MultipartUpload"}};

constexpr std::string_view kBeginAbout =
    "For files above 64 MiB, as OpenAI's API: begin an upload, send its parts (also several at once), and "
    "complete it with the ids of the parts in their order. An upload that is not completed within an hour "
    "expires, and its parts are deleted. A tenant has at most 100 pending uploads (409).";
constexpr std::string_view kPartAbout =
    "A part is stored as it arrives, and counts against `stored_bytes` of the tenant and of the key that "
    "began "
    "the upload. An upload has at most 1,000 parts, which may have twice its bytes together, because a part "
    "may be sent again.";
constexpr std::string_view kCompleteAbout =
    "Joins the parts to a file of `/v1/files`, in this order. Parts that are not named are deleted. Until "
    "the "
    "reply, nothing has changed: after an error the upload is still pending. 400: a part is not of this "
    "upload, the parts do not have the announced `bytes` together, or their MD5 is another one. 409: the "
    "upload "
    "has ended. 503: the tenant completes 8 uploads at this moment.";

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
    Route{Method::kPost, "/v1/uploads", Access::kScope, Scope::kFilesWrite, BodyKind::kJson, kSmallBody, Lane::kFront,
          &begin_upload,
          {.id = "beginUpload", .tag = "stored files", .summary = "Begin to upload a file in parts", .replies = kUploadReplies,
           .headers = "IdempotencyKeyReply", .body = "UploadRequest", .state = true, .job = JobReplies::kReplayed, .about = kBeginAbout}},
    Route{Method::kPost, "/v1/uploads/{upload_id}/parts", Access::kScope, Scope::kFilesWrite, BodyKind::kPartForm, kPartBody,
          Lane::kFront, &add_upload_part,
          {.id = "addUploadPart", .tag = "stored files", .summary = "Upload a part", .replies = kPartReplies,
           .headers = "IdempotencyKeyReply", .body = "UploadPartForm", .state = true, .job = JobReplies::kReplayed, .about = kPartAbout}},
    Route{Method::kPost, "/v1/uploads/{upload_id}/complete", Access::kScope, Scope::kFilesWrite, BodyKind::kJson, kSmallBody,
          Lane::kPool, &complete_upload,
          {.id = "completeUpload", .tag = "stored files", .summary = "Complete an upload", .replies = kCompletedReplies,
           .headers = "IdempotencyKeyReply", .body = "UploadCompletion", .state = true, .job = JobReplies::kReplayed,
           .about = kCompleteAbout}},
    write_route(Method::kPost, "/v1/uploads/{upload_id}/cancel", Scope::kFilesWrite, Lane::kFront, &cancel_upload,
        {.id = "cancelUpload", .tag = "stored files", .summary = "Cancel an upload and delete its parts", .replies = kUploadReplies,
         .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kReplayed}),
    Route{Method::kGet, "/v1/files/signed/{signed_id}", Access::kOpen, Scope::kFilesRead, BodyKind::kNone, kSmallBody, Lane::kPool,
          &signed_file_content,
          {.id = "getSignedStoredFile", .tag = "stored files", .summary = "Download a file by its signed URL",
           .replies = kFileContentReplies, .query = signed_url_fields(), .headers = "Range IfRange IfNoneMatch"}},
};
// clang-format on

}  // namespace

std::span<const Route> file_routes() { return kFileRoutes; }

}  // namespace millrace::api
