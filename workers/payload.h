#pragma once
#include <string>

#include "platform/base/result.h"
#include "storage/blobs.h"
#include "storage/job_outcomes.h"
#include "storage/job_queries.h"

namespace millrace::workers {

// Bytes as a store move takes them: inline, or staged above storage::kInlineMax. All of these block on the
// disk. kOverloaded: the disk is full, try again.
base::Result<storage::Staged> stage(storage::Blobs& blobs, std::string_view bytes);
base::Result<storage::Payload> payload_of(storage::Blobs& blobs, std::string bytes);
base::Result<std::string> bytes_of(const storage::Blobs& blobs, storage::StoredPayload payload);

}  // namespace millrace::workers
