#include "workers/ocr_merge.h"

#include <algorithm>
#include <optional>

#include "storage/job_queries.h"

namespace millrace::workers {
namespace {

base::Error page_error(const OcrMerge& what, int page) {
  const auto found = what.missing.find(page);
  if (found != what.missing.end()) return found->second;
  return base::error(base::Code::kPageFailed, "the page could not be read");
}

std::string failed_page(int index, const base::Error& error) {
  schemas::OcrPage page;
  page.index = index;
  page.error = error;
  return schemas::to_json(page);
}

base::Result<std::string> text_of(storage::Store& store, const storage::StoredPayload& payload) {
  if (!payload.blob) return payload.bytes;
  return store.blobs().read(*payload.blob);
}

// The error that stands for the whole document when no page could be read.
std::optional<base::Error> error_of_all(const std::vector<std::string>& parts) {
  std::optional<base::Error> first;
  for (const std::string& part : parts) {
    auto page = schemas::ocr_page_from_json(part);
    if (!page || !page->error) return std::nullopt;
    if (!first) first = page->error;
  }
  return first;
}

}  // namespace

base::Result<std::string> merge_pages(storage::Store& store, const schemas::JobId& root,
                                      const OcrMerge& what) {
  auto stored = storage::JobQueries(store).all_parts(root);
  if (!stored) return stored.error();
  std::map<int, const storage::StoredPayload*> by_index;
  for (const storage::StoredPart& part : *stored) by_index[part.index] = &part.payload;
  std::vector<std::string> parts;
  for (const int page : what.pages) {
    const auto found = by_index.find(page);
    if (found == by_index.end()) {
      parts.push_back(failed_page(page, page_error(what, page)));
      continue;
    }
    auto text = text_of(store, *found->second);
    if (!text) return text.error();
    parts.push_back(*std::move(text));
  }
  if (auto all = error_of_all(parts)) return *std::move(all);
  return schemas::ocr_reply(what.model, parts, what.document_bytes);
}

base::Result<OcrRanges> ranges_of(storage::Store& store, const schemas::JobId& root) {
  auto children = storage::JobQueries(store).children(root);
  if (!children) return children.error();
  OcrRanges ranges;
  for (const storage::JobQueries::ChildEnd& child : *children) {
    auto spec = schemas::ocr_spec_from_json(child.spec);
    if (!spec) return spec.error();
    ranges.pages.insert(ranges.pages.end(), spec->pages.begin(), spec->pages.end());
    if (!child.error) continue;
    for (const int page : spec->pages)
      ranges.errors[page] = base::error(child.error->code, child.error->message);
  }
  std::sort(ranges.pages.begin(), ranges.pages.end());
  return ranges;
}

base::Result<storage::Staged> stage_text(storage::Blobs& blobs, const std::string& text) {
  auto writer = blobs.begin(static_cast<std::int64_t>(text.size()));
  if (!writer) return writer.error();
  if (const base::Status written = (*writer)->append(text); !written) return written.error();
  return (*writer)->finish();
}

}  // namespace millrace::workers
