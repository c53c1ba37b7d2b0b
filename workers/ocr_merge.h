#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "platform/base/result.h"
#include "schemas/job.h"
#include "schemas/ocr.h"
#include "storage/store.h"

namespace millrace::workers {

// The reply of a document from its stored pages.
struct OcrMerge {
  std::string model;
  schemas::PageList pages;             // every page asked for, ascending
  std::map<int, base::Error> missing;  // why a page without a part has none; else page_failed
  std::int64_t document_bytes = 0;
};
// The reply's JSON; the error of the first page when not one could be read. Blocks (reads): pool only.
base::Result<std::string> merge_pages(storage::Store& store, const schemas::JobId& root,
                                      const OcrMerge& what);

// Pages and errors of a root's children, by what they left in the store. Blocks.
struct OcrRanges {
  schemas::PageList pages;
  std::map<int, base::Error> errors;
};
base::Result<OcrRanges> ranges_of(storage::Store& store, const schemas::JobId& root);

// A payload for the store: inline, or a staged blob above the inline bound. Blocks for a large one.
base::Result<storage::Staged> stage_text(storage::Blobs& blobs, const std::string& text);

}  // namespace millrace::workers
