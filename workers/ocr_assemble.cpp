#include <algorithm>
#include <map>
#include <utility>

#include "storage/job_queries.h"
#include "workers/ocr_task.h"
#include "workers/payload.h"

namespace millrace::workers {
namespace {

using base::Code;

// The reply's pages in order, and why those without a part have none.
using Wanted = std::map<int, base::Error>;

base::Error no_reason() { return base::error(Code::kPageFailed, "the page could not be read"); }

// A range that failed as a whole: its own word if it is about the document, else only that the page failed.
base::Error page_error(const std::optional<schemas::JobError>& error) {
  if (!error) return no_reason();
  constexpr int kUnprocessable = 422;
  const Code code = base::info(error->code).http_status == kUnprocessable ? error->code : Code::kPageFailed;
  return base::error(code, error->message);
}

base::Result<Wanted> pages_of_children(storage::JobQueries& queries, const schemas::JobId& root) {
  const auto children = queries.children(root);
  if (!children) return children.error();
  Wanted wanted;
  for (const auto& child : *children) {
    const auto spec = schemas::ocr_spec_from_json(child.spec);
    if (!spec) return spec.error();
    for (const int page : spec->pages) wanted.emplace(page, page_error(child.error));
  }
  return wanted;
}

base::Result<Wanted> wanted_of(storage::JobQueries& queries, const schemas::JobId& root,
                               const schemas::PageList& pages) {
  if (pages.empty()) return pages_of_children(queries, root);
  Wanted wanted;
  for (const int page : pages) wanted.emplace(page, no_reason());
  return wanted;
}

std::string failed_page(int index, const base::Error& error) {
  schemas::OcrPage page;
  page.index = index;
  page.error = error;
  return schemas::to_json(page);
}

base::Result<std::vector<std::string>> all_pages(storage::Store& store, storage::JobQueries& queries,
                                                 const schemas::JobId& root, const Wanted& wanted) {
  auto parts = queries.all_parts(root);
  if (!parts) return parts.error();
  std::map<int, storage::StoredPayload> by_index;
  for (storage::StoredPart& part : *parts) by_index.emplace(part.index, std::move(part.payload));
  std::vector<std::string> pages;
  for (const auto& [index, error] : wanted) {
    const auto part = by_index.find(index);
    if (part == by_index.end()) {
      pages.push_back(failed_page(index, error));
      continue;
    }
    auto bytes = bytes_of(store.blobs(), std::move(part->second));
    if (!bytes) return bytes.error();
    pages.push_back(std::move(*bytes));
  }
  return pages;
}

// No page is good: the document's error is the first page's.
base::Error error_of(const std::vector<std::string>& pages) {
  if (pages.empty()) return base::error(Code::kDocumentEmpty, "the document has no pages");
  auto page = schemas::ocr_page_from_json(pages.front());
  return page && page->error ? *page->error : no_reason();
}

}  // namespace

base::Result<Outcome> assemble(storage::Store& store, const storage::Claimed& job, const std::string& model,
                               schemas::PageList pages, std::int64_t document_bytes) {
  const schemas::JobId& root = job.lease.job;
  storage::JobQueries queries(store);
  const auto wanted = wanted_of(queries, root, pages);
  if (!wanted) return wanted.error();
  const auto all = all_pages(store, queries, root, *wanted);
  if (!all) return all.error();
  const bool any_good = std::any_of(all->begin(), all->end(),
                                    [](const std::string& page) { return !schemas::ocr_page_failed(page); });
  if (!any_good) return Outcome(Fail{error_of(*all), {}});
  auto payload = payload_of(store.blobs(), schemas::ocr_reply(model, *all, document_bytes));
  if (!payload) return payload.error();
  return Outcome(Done{std::move(*payload)});
}

}  // namespace millrace::workers
