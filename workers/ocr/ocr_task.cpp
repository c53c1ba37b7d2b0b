#include "workers/ocr/ocr_task.h"

#include <algorithm>
#include <map>
#include <utility>

#include "platform/base/bytes.h"
#include "platform/process/memory_file.h"
#include "schemas/jobs/sealed_spec.h"
#include "storage/jobs/job_queries.h"
#include "workers/payload.h"

namespace millrace::workers {
namespace {

using base::Code;
using DocumentPtr = std::shared_ptr<const engines::Document>;

base::Result<DocumentPtr> document_of(const storage::OpenFile& file, const std::string& tenant) {
  auto own = duplicate_descriptor(file);
  if (!own) return own.error();
  return engines::Document::from(std::move(*own), tenant);
}

// Opens a small document from memory, without a file on disk.
base::Result<DocumentPtr> inline_document(const std::string& bytes, const std::string& tenant) {
  auto file = process::memory_file(bytes);
  if (!file) return file.error();
  return engines::Document::from(std::move(*file), tenant);
}

base::Result<DocumentPtr> stored_document(storage::Store& store, const storage::ClaimedJob& job,
                                          const schemas::OcrSpec& spec) {
  if (!job.input) {
    if (spec.inline_document.empty()) return DocumentPtr();
    return inline_document(spec.inline_document, job.tenant);
  }
  auto file = store.blobs().open(*job.input);
  if (!file) return file.error();
  return document_of(*file, job.tenant);
}

}  // namespace

base::Result<OcrTask> open_task(storage::Store& store, const storage::ClaimedJob& job,
                                const std::string& secret_key) {
  auto text = read_payload(store.blobs(), {job.spec, job.spec_blob});
  if (text) text = schemas::open_spec(secret_key, job.tenant, *std::move(text));
  if (!text) return text.error();
  auto spec = schemas::unpack_ocr_spec(*text);
  if (!spec) return spec.error();
  OcrTask task{std::move(*spec), nullptr, {}, {}};
  if (job.children_done) return task;
  const schemas::JobId root = job.parent.value_or(job.lease.job);
  if (job.lease.attempt > 1) {
    auto finished = storage::JobQueries(store).part_indexes(root);
    if (!finished) return finished.error();
    task.finished = std::move(*finished);
  }
  if (job.lease.attempt > 1 || job.parent) {
    const auto used = storage::JobQueries(store).engine_time(root);
    if (!used) return used.error();
    task.engine_time = *used;
  }
  auto document = stored_document(store, job, task.spec);
  if (!document) return document.error();
  task.document = std::move(*document);
  return task;
}

base::Result<DocumentPtr> open_document(const storage::StagedBlob& staged, const std::string& tenant) {
  const auto file = staged.open();
  if (!file) return file.error();
  return document_of(*file, tenant);
}

base::Result<schemas::PageList> requested_pages(const schemas::OcrSpec& spec, int document_pages) {
  schemas::PageList pages = spec.pages;
  if (pages.empty()) {
    for (int page = 0; page < document_pages; ++page) pages.push_back(page);
  }
  for (const int page : pages) {
    if (page < document_pages) continue;
    return base::error(Code::kInvalidField,
                       "pages: " + std::to_string(page) + " is out of range: the document has " +
                           std::to_string(document_pages) + (document_pages == 1 ? " page" : " pages") +
                           ", counted from 0",
                       "pages");
  }
  if (pages.empty()) return base::error(Code::kDocumentEmpty, "the document has no pages");
  return pages;
}

std::vector<storage::ChildSpec> page_ranges(const schemas::OcrSpec& spec, const schemas::PageList& pages,
                                            int range_pages, base::WallTime now) {
  schemas::OcrSpec range = spec;
  range.document_url.clear();
  range.inline_document.clear();
  range.is_range = true;
  std::vector<storage::ChildSpec> children;
  const auto step = static_cast<std::size_t>(range_pages);
  for (std::size_t from = 0; from < pages.size(); from += step) {
    const std::size_t to = std::min(pages.size(), from + step);
    range.pages.assign(pages.begin() + static_cast<std::ptrdiff_t>(from),
                       pages.begin() + static_cast<std::ptrdiff_t>(to));
    children.push_back({schemas::pack(range), {schemas::Kind::kOcr, base::Uuid::make(now)}});
  }
  return children;
}

schemas::OcrPage to_api_page(engines::PageOutcome outcome) {
  schemas::OcrPage page;
  page.index = outcome.index;
  page.error = std::move(outcome.error);
  if (page.error) return page;
  page.markdown = std::move(outcome.markdown);
  page.warnings = std::move(outcome.warnings);
  if (outcome.dimensions) {
    page.dimensions = {outcome.dimensions->dpi, outcome.dimensions->height, outcome.dimensions->width};
  }
  for (engines::PageImage& image : outcome.images) {
    page.images.push_back(
        {std::move(image.id), image.x0, image.y0, image.x1, image.y1, std::move(image.data_uri)});
  }
  return page;
}

namespace {

using base::Code;

// The response's pages in order, each with the error to report if it has no part.
using PageErrors = std::map<int, base::Error>;

base::Error page_unreadable_error() { return base::error(Code::kPageFailed, "the page could not be read"); }

// The error of each page of a range that failed as a whole: the range's error if it is about the document,
// otherwise a general page error.
base::Error page_error(const std::optional<schemas::JobError>& error) {
  if (!error) return page_unreadable_error();
  constexpr int kUnprocessable = 422;
  const Code code = base::info(error->code).http_status == kUnprocessable ? error->code : Code::kPageFailed;
  return base::error(code, error->message);
}

base::Result<PageErrors> pages_of_children(storage::JobQueries& queries, const schemas::JobId& root) {
  const auto children = queries.children(root);
  if (!children) return children.error();
  PageErrors page_errors;
  for (const auto& child : *children) {
    const auto spec = schemas::unpack_ocr_spec(child.spec);
    if (!spec) return spec.error();
    for (const int page : spec->pages) page_errors.emplace(page, page_error(child.error));
  }
  return page_errors;
}

base::Result<PageErrors> page_errors_of(storage::JobQueries& queries, const schemas::JobId& root,
                                        const schemas::PageList& pages) {
  if (pages.empty()) return pages_of_children(queries, root);
  PageErrors page_errors;
  for (const int page : pages) page_errors.emplace(page, page_unreadable_error());
  return page_errors;
}

std::string failed_page(int index, const base::Error& error) {
  schemas::OcrPage page;
  page.index = index;
  page.error = error;
  return schemas::to_json(page);
}

using Parts = std::map<int, storage::StoredPayload>;

base::Result<Parts> parts_of(storage::JobQueries& queries, const schemas::JobId& root) {
  auto stored = queries.all_parts(root);
  if (!stored) return stored.error();
  Parts parts;
  for (storage::StoredPart& part : *stored) parts.emplace(part.index, std::move(part.payload));
  return parts;
}

std::int64_t size_of(const storage::StoredPayload& part) {
  return part.blob ? part.blob->bytes : static_cast<std::int64_t>(part.bytes.size());
}

// An upper bound of the response's size.
std::int64_t reply_bytes(const PageErrors& page_errors, const Parts& parts, const ReplyPlan& plan) {
  const auto count = static_cast<int>(page_errors.size());
  const std::string tail = schemas::ocr_reply_tail(plan.model, count, plan.document_bytes);
  auto bytes = static_cast<std::int64_t>(schemas::kOcrReplyHead.size() + tail.size());
  for (const auto& [index, error] : page_errors) {
    const auto part = parts.find(index);
    bytes += 1 + (part == parts.end() ? static_cast<std::int64_t>(failed_page(index, error).size())
                                      : size_of(part->second));
  }
  return bytes;
}

base::Error too_large(std::int64_t bytes, std::int64_t bytes_max) {
  return base::error(Code::kDocumentTooLarge,
                     "the response would have " + base::format_bytes(bytes) + ", more than ocr.reply_max (" +
                         base::format_bytes(bytes_max) +
                         "): request fewer pages at a time, or omit include_image_base64",
                     "pages");
}

// Writes the response to the store, with one page in memory at a time.
class Assembly {
 public:
  Assembly(storage::Blobs& blobs, const ReplyPlan& plan, std::int64_t bytes)
      : plan_(plan), out_(blobs, bytes) {}

  base::Status add(const std::string& page) {
    const auto split = schemas::without_document_members(page);
    if (split && document_.empty()) document_ = split->members;
    const bool failed = schemas::ocr_page_failed(page);
    if (pages_++ == 0 && failed) first_error_ = error_of(page);
    good_ += failed ? 0 : 1;
    auto written = out_.append(pages_ == 1 ? schemas::kOcrReplyHead : ",");
    return written ? out_.append(split ? split->page : page) : written;
  }

  // If no page succeeded, the document fails with the first page's error.
  base::Result<Outcome> finish() {
    if (pages_ == 0) return Outcome(Fail{base::error(Code::kDocumentEmpty, "the document has no pages"), {}});
    if (good_ == 0) return Outcome(Fail{first_error_, {}});
    if (auto end = out_.append(schemas::ocr_reply_tail(plan_.model, good_, plan_.document_bytes, document_));
        !end) {
      return end.error();
    }
    auto payload = out_.finish();
    if (!payload) return payload.error();
    return Outcome(Succeeded{std::move(*payload)});
  }

 private:
  static base::Error error_of(const std::string& page) {
    const auto read = schemas::ocr_page_from_json(page);
    return read && read->error ? *read->error : page_unreadable_error();
  }

  const ReplyPlan& plan_;
  PayloadWriter out_;
  base::Error first_error_;
  std::string document_;  // the members of the whole document
  int pages_ = 0;
  int good_ = 0;
};

base::Result<std::string> page_of(storage::Store& store, Parts& parts, int index,
                                  const base::Error& why_not) {
  const auto part = parts.find(index);
  if (part == parts.end()) return failed_page(index, why_not);
  return read_payload(store.blobs(), std::move(part->second));
}

}  // namespace

base::Result<Outcome> assemble(storage::Store& store, const storage::ClaimedJob& job, const ReplyPlan& plan) {
  storage::JobQueries queries(store);
  const auto page_errors = page_errors_of(queries, job.lease.job, plan.pages);
  if (!page_errors) return page_errors.error();
  auto parts = parts_of(queries, job.lease.job);
  if (!parts) return parts.error();
  const std::int64_t bytes = reply_bytes(*page_errors, *parts, plan);
  if (bytes > plan.bytes_max) return too_large(bytes, plan.bytes_max);
  Assembly assembly(store.blobs(), plan, bytes);
  for (const auto& [index, error] : *page_errors) {
    const auto page = page_of(store, *parts, index, error);
    if (!page) return page.error();
    if (auto added = assembly.add(*page); !added) return added.error();
  }
  return assembly.finish();
}

}  // namespace millrace::workers
