#pragma once
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

// The blocking steps of an OCR job (pool). Errors with base::Code::kOverloaded are ours and pass by.
namespace millrace::workers {

// A job as it was read from the store.
struct OcrTask {
  schemas::OcrSpec spec;
  std::shared_ptr<const engines::Document> document;  // null: it has to be fetched first
  std::vector<int> finished;                          // pages that have a part, from an earlier attempt
};
base::Result<OcrTask> open_task(storage::Store& store, const storage::Claimed& job);

base::Result<std::shared_ptr<const engines::Document>> open_document(const storage::StagedBlob& staged);
// The pages of a document that a job is about; kInvalidField names one that is not there.
base::Result<schemas::PageList> requested_pages(const schemas::OcrSpec& spec, int document_pages);
// One child per `range_pages` pages.
std::vector<storage::ChildSpec> page_ranges(const schemas::OcrSpec& spec, const schemas::PageList& pages,
                                            int range_pages, base::WallTime now);

// The page as it is stored and shown.
schemas::OcrPage shown(engines::PageOutcome outcome);

// What a reply is made of.
struct ReplyPlan {
  std::string model;
  schemas::PageList pages;           // what this attempt worked on; empty: what its children were made for
  std::int64_t document_bytes = -1;  // -1: not known
  std::int64_t bytes_max = 0;
};
// The end of a root job from the parts in the store: pages without one become page errors; if no page is
// good, the document fails with the first page's error. Holds one page at a time. kDocumentTooLarge: the
// reply would be above `bytes_max`.
base::Result<Outcome> assemble(storage::Store& store, const storage::Claimed& job, const ReplyPlan& plan);

}  // namespace millrace::workers
