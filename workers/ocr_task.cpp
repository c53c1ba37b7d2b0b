#include "workers/ocr_task.h"

#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "storage/job_queries.h"
#include "workers/payload.h"

namespace millrace::workers {
namespace {

using base::Code;
using DocumentPtr = std::shared_ptr<const engines::Document>;

base::Result<DocumentPtr> document_of(const storage::OpenFile& file) {
  auto own = own_descriptor(file);
  if (!own) return own.error();
  return engines::Document::from(std::move(*own));
}

// In memory: a small document costs no file.
base::Result<DocumentPtr> inline_document(const std::string& bytes) {
  base::Fd fd(::memfd_create("document", MFD_CLOEXEC));
  const auto size = static_cast<ssize_t>(bytes.size());
  if (!fd || ::write(fd.get(), bytes.data(), bytes.size()) != size) {
    return base::error(Code::kOverloaded, "no memory for a document");
  }
  return engines::Document::from(std::move(fd));
}

base::Result<DocumentPtr> stored_document(storage::Store& store, const storage::Claimed& job,
                                          const schemas::OcrSpec& spec) {
  if (!job.input) {
    if (spec.inline_document.empty()) return DocumentPtr();
    return inline_document(spec.inline_document);
  }
  auto file = store.blobs().open(*job.input);
  if (!file) return file.error();
  return document_of(*file);
}

}  // namespace

base::Result<OcrTask> open_task(storage::Store& store, const storage::Claimed& job) {
  auto text = bytes_of(store.blobs(), {job.spec, job.spec_blob});
  if (!text) return text.error();
  auto spec = schemas::unpack_ocr_spec(*text);
  if (!spec) return spec.error();
  OcrTask task{std::move(*spec), nullptr, {}};
  if (job.children_done) return task;
  if (job.lease.attempt > 1) {
    auto finished = storage::JobQueries(store).part_indexes(job.parent.value_or(job.lease.job));
    if (!finished) return finished.error();
    task.finished = std::move(*finished);
  }
  auto document = stored_document(store, job, task.spec);
  if (!document) return document.error();
  task.document = std::move(*document);
  return task;
}

base::Result<DocumentPtr> open_document(const storage::StagedBlob& staged) {
  const auto file = staged.open();
  if (!file) return file.error();
  return document_of(*file);
}

base::Result<schemas::PageList> wanted_pages(const schemas::OcrSpec& spec, int document_pages) {
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

schemas::OcrPage shown(engines::PageOutcome outcome) {
  schemas::OcrPage page;
  page.index = outcome.index;
  page.error = std::move(outcome.error);
  if (page.error) return page;
  page.markdown = std::move(outcome.markdown);
  if (outcome.dimensions) {
    page.dimensions = {outcome.dimensions->dpi, outcome.dimensions->height, outcome.dimensions->width};
  }
  for (engines::PageImage& image : outcome.images) {
    page.images.push_back(
        {std::move(image.id), image.x0, image.y0, image.x1, image.y1, std::move(image.data_uri)});
  }
  return page;
}

}  // namespace millrace::workers
