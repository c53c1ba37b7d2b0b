#pragma once
#include <optional>
#include <string>
#include <vector>

#include "schemas/files/multipart_upload.h"
#include "storage/blobs/blobs.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/store.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

struct NewUploadPart {
  schemas::UploadPart about;
  Staged content;
};

// What completes an upload.
struct UploadContent {
  base::Uuid upload;
  base::Uuid file;  // the id of the new file
  Staged bytes;
};
struct CompletedUpload {
  schemas::MultipartUpload upload;
  schemas::StoredFile file;
};

// Files that clients upload in parts, by tenant. The bytes of parts count against `stored_bytes` of the
// tenant and of the key that began the upload, until the upload ends; then those of the file do. Errors of an
// upload that has ended: kInvalidState. Writes never block; reads block: for pool threads.
class MultipartUploads {
 public:
  explicit MultipartUploads(Store& store) : store_(store) {}

  // kQuotaFull: the tenant has kPendingUploadsMax.
  void begin(schemas::MultipartUpload upload, IdempotentCall call,
             ReplyBuilder<schemas::MultipartUpload> reply, Callback<CallReply> done);
  // kQuotaFull: its bytes exceed `stored_bytes`. kBadRequest: too many parts, or too many bytes for the
  // upload.
  void add_part(NewUploadPart part, IdempotentCall call, ReplyBuilder<schemas::UploadPart> reply,
                Callback<CallReply> done);
  // The contents of these parts, in this order. kBadRequest (`part_ids`): one is not of this upload, or they
  // do not have its bytes together.
  base::Result<std::vector<BlobRef>> parts(const std::string& tenant, const base::Uuid& upload,
                                           const std::vector<base::Uuid>& parts);
  // Makes the file and ends the upload, in one transaction. `content` has the joined bytes of `parts`.
  void complete(UploadContent content, IdempotentCall call, ReplyBuilder<CompletedUpload> reply,
                Callback<CallReply> done);
  // The stored reply of a call that has succeeded before, else `otherwise`.
  void repeat(IdempotentCall call, base::Error otherwise, Callback<CallReply> done);
  void cancel(base::Uuid upload, IdempotentCall call, ReplyBuilder<schemas::MultipartUpload> reply,
              Callback<CallReply> done);
  // Ends uploads that have expired and deletes their parts, and deletes the rows of uploads kEndedKept after
  // that time. The bytes are removed by the next JobMaintenance::drop_blobs.
  void drop_expired(int limit, Callback<int> done);

  static constexpr std::chrono::hours kEndedKept{24};

 private:
  Store& store_;
};

base::Error no_such_upload();  // kNotFound

}  // namespace millrace::storage
