#pragma once
#include <string>
#include <string_view>

#include "api/admission/upload.h"
#include "api/call.h"
#include "api/context.h"
#include "platform/base/result.h"
#include "schemas/files/stored_file.h"
#include "storage/jobs/job_intake.h"

namespace millrace::api {

// A file of /v1/files that a request uses, if its size and its first bytes follow `rules`. kForbidden: the
// key lacks files:read. kNotFound: no such file. Errors name `param`. Blocks; runs on the pool.
base::Result<schemas::StoredFile> file_input(Context& context, const Call& call, const base::Uuid& id,
                                             const FileRules& rules, std::string_view param);

// The file is gone, but the request has an Idempotency-Key: it may repeat one that found the file, and the
// submission decides.
bool may_be_repeat(const base::Error& error, const storage::Submission& submission);

}  // namespace millrace::api
