#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ai/engines/ocr/document.h"
#include "ai/engines/ocr/pages.h"
#include "platform/base/result.h"
#include "schemas/media/ocr.h"
#include "storage/jobs/job_claims.h"
#include "workers/runner.h"

// The blocking steps of an OCR job; they run on the pool. base::Code::kOverloaded is a temporary error of the
// gateway.
namespace millrace::workers {

// A job as it was read from the store.
struct OcrTask {
  schemas::OcrSpec spec;
  std::shared_ptr<const engines::Document> document;  // null: it must be downloaded first
  std::vector<int> finished;                          // pages whose part an earlier attempt has stored
  std::chrono::milliseconds engine_time{0};           // used for the root job so far
};
base::Result<OcrTask> open_task(storage::Store& store, const storage::ClaimedJob& job,
                                const std::string& secret_key);

base::Result<std::shared_ptr<const engines::Document>> open_document(const storage::StagedBlob& staged,
                                                                     const std::string& tenant);
// The pages of the document that the job requests; kInvalidField names one that does not exist.
base::Result<schemas::PageList> requested_pages(const schemas::OcrSpec& spec, int document_pages);
// One child per `range_pages` pages.
std::vector<storage::ChildSpec> page_ranges(const schemas::OcrSpec& spec, const schemas::PageList& pages,
                                            int range_pages, base::WallTime now);

// Converts a page to the form that is stored and returned by the API.
schemas::OcrPage to_api_page(engines::PageOutcome outcome);

// The input of `assemble`.
struct ReplyPlan {
  std::string model;
  schemas::PageList pages;           // the pages of this attempt; empty: the pages of its children
  std::int64_t document_bytes = -1;  // -1: not known
  std::int64_t bytes_max = 0;
};
// Ends a root job from the parts in the store. Pages without a part become page errors. If no page succeeded,
// the document fails with the first page's error. Holds one page in memory at a time. kDocumentTooLarge: the
// response would be above `bytes_max`.
base::Result<Outcome> assemble(storage::Store& store, const storage::ClaimedJob& job, const ReplyPlan& plan);

}  // namespace millrace::workers
