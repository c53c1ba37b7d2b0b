#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ai/engines/document.h"
#include "schemas/ocr.h"
#include "storage/blobs.h"
#include "storage/job_claims.h"

namespace millrace::workers {

// A document by URL: staged, or an error. The returned function ends the fetch without `done`. Any thread.
using FetchDocument = std::function<std::function<void()>(
    const std::string& url, std::function<void(base::Result<storage::Staged>)> done)>;

// The document of a job, opened for the engine, and its size. Blocks (disk): pool only.
struct OpenedDocument {
  std::shared_ptr<const engines::Document> document;
  std::int64_t bytes = 0;
};
base::Result<OpenedDocument> open_input(storage::Blobs& blobs, const storage::BlobRef& input);
base::Result<OpenedDocument> open_inline(const std::string& base64);
// A blob of a small document that travelled in the spec, so that its ranges can share it.
base::Result<storage::Staged> stage_inline(storage::Blobs& blobs, const std::string& base64);

}  // namespace millrace::workers
