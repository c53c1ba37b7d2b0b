#include <algorithm>
#include <map>
#include <utility>

#include "platform/base/bytes.h"
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
    const auto spec = schemas::unpack_ocr_spec(child.spec);
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

// What the reply has at most.
std::int64_t reply_bytes(const Wanted& wanted, const Parts& parts, const ReplyPlan& plan) {
  const auto count = static_cast<int>(wanted.size());
  const std::string tail = schemas::ocr_reply_tail(plan.model, count, plan.document_bytes);
  auto bytes = static_cast<std::int64_t>(schemas::kOcrReplyHead.size() + tail.size());
  for (const auto& [index, error] : wanted) {
    const auto part = parts.find(index);
    bytes += 1 + (part == parts.end() ? static_cast<std::int64_t>(failed_page(index, error).size())
                                      : size_of(part->second));
  }
  return bytes;
}

base::Error too_large(std::int64_t bytes, std::int64_t bytes_max) {
  return base::error(Code::kDocumentTooLarge,
                     "the reply would have " + base::format_bytes(bytes) + ", more than ocr.reply_max (" +
                         base::format_bytes(bytes_max) +
                         "): ask for fewer pages at a time, or leave out include_image_base64",
                     "pages");
}

// The reply on its way into the store: one page in memory at a time.
class Assembly {
 public:
  Assembly(storage::Blobs& blobs, const ReplyPlan& plan, std::int64_t bytes)
      : plan_(plan), out_(blobs, bytes) {}

  base::Status add(const std::string& page) {
    const bool failed = schemas::ocr_page_failed(page);
    if (pages_++ == 0 && failed) first_error_ = error_of(page);
    good_ += failed ? 0 : 1;
    auto written = out_.append(pages_ == 1 ? schemas::kOcrReplyHead : ",");
    return written ? out_.append(page) : written;
  }

  // No page is good: the document's error is the first page's.
  base::Result<Outcome> finish() {
    if (pages_ == 0) return Outcome(Fail{base::error(Code::kDocumentEmpty, "the document has no pages"), {}});
    if (good_ == 0) return Outcome(Fail{first_error_, {}});
    if (auto end = out_.append(schemas::ocr_reply_tail(plan_.model, good_, plan_.document_bytes)); !end) {
      return end.error();
    }
    auto payload = out_.finish();
    if (!payload) return payload.error();
    return Outcome(Done{std::move(*payload)});
  }

 private:
  static base::Error error_of(const std::string& page) {
    const auto read = schemas::ocr_page_from_json(page);
    return read && read->error ? *read->error : no_reason();
  }

  const ReplyPlan& plan_;
  PayloadWriter out_;
  base::Error first_error_;
  int pages_ = 0;
  int good_ = 0;
};

base::Result<std::string> page_of(storage::Store& store, Parts& parts, int index,
                                  const base::Error& why_not) {
  const auto part = parts.find(index);
  if (part == parts.end()) return failed_page(index, why_not);
  return bytes_of(store.blobs(), std::move(part->second));
}

}  // namespace

base::Result<Outcome> assemble(storage::Store& store, const storage::Claimed& job, const ReplyPlan& plan) {
  storage::JobQueries queries(store);
  const auto wanted = wanted_of(queries, job.lease.job, plan.pages);
  if (!wanted) return wanted.error();
  auto parts = parts_of(queries, job.lease.job);
  if (!parts) return parts.error();
  const std::int64_t bytes = reply_bytes(*wanted, *parts, plan);
  if (bytes > plan.bytes_max) return too_large(bytes, plan.bytes_max);
  Assembly assembly(store.blobs(), plan, bytes);
  for (const auto& [index, error] : *wanted) {
    const auto page = page_of(store, *parts, index, error);
    if (!page) return page.error();
    if (auto added = assembly.add(*page); !added) return added.error();
  }
  return assembly.finish();
}

}  // namespace millrace::workers
