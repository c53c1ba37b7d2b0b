#include "workers/ocr/ocr_run.h"

#include <utility>

#include "jobs/policy.h"
#include "storage/blobs/blobs.h"

namespace millrace::workers {

using base::Code;

OcrRun::OcrRun(storage::ClaimedJob job, AttemptContext& context, OcrReaders readers,
               const FetchDocument& fetch, OcrRunner::Options options, Runner::Ended ended)
    : PartitionedRun("ocr", std::move(job), context, std::move(ended)),
      readers_(readers),
      fetch_(fetch),
      options_(options) {}

void OcrRun::open() {
  on_pool(
      Queue::kQuick,
      [&store = context().store(), this] { return open_task(store, job(), options_.secret_key); },
      [this](base::Result<OcrTask> task) { opened(std::move(task)); });
}

void OcrRun::opened(base::Result<OcrTask> task) {
  if (!task && jobs::is_local_limit(task.error())) return read_input_later(task.error(), [this] { open(); });
  if (!task) return fail(task.error());
  task_ = std::move(*task);
  if (!is_remote()) limit_engine_time(options_.engine_time, task_.engine_time);
  if (job().children_done) return merge_parts();
  if (!task_.document) return fetch();
  if (task_.spec.is_range) return set_pages(task_.spec.pages);
  inspect();
}

void OcrRun::fetch() {
  if (task_.spec.document_url.empty()) {
    return fail(base::error(Code::kDocumentEmpty, "the job's document has been deleted"));
  }
  if (!context().may_start()) return end(Abandoned{});
  constexpr bool kSilent = true;
  set_cancel(fetch_(task_.spec.document_url,
                    [this, self = shared_from_this()](base::Result<storage::Staged> staged) {
                      post([this, staged = std::move(staged)] { fetched(staged); });
                    }),
             kSilent);
}

void OcrRun::fetched(base::Result<storage::Staged> staged) {
  if (is_over()) return;
  clear_cancel();
  if (!is_running()) return;
  if (staged) return attach(*staged, [this, document = *staged] { open_fetched(document); });
  base::Error error = staged.error();
  if (!error.param.empty()) error.param = schemas::kDocumentField;  // the download names only its last part
  // A failed download without a retry_after is permanent.
  error.is_permanent =
      error.is_permanent || (error.code == Code::kFetchFailed && error.retry_after.count() == 0);
  fail(std::move(error));
}

void OcrRun::attach(const storage::Staged& staged, std::function<void()> then) {
  context().attach_input(staged, [this, self = shared_from_this(), then = std::move(then)](bool lease_held) {
    if (!is_running()) return;
    if (!lease_held) return end(Abandoned{});
    run_step(then);
  });
}

void OcrRun::open_fetched(const storage::Staged& staged) {
  on_pool(
      Queue::kQuick, [staged, this] { return open_document(*staged, job().tenant); },
      [this](base::Result<DocumentPtr> document) {
        if (!document) return fail(document.error());
        task_.document = std::move(*document);
        inspect();
      });
}

void OcrRun::inspect() {
  if (!context().may_start()) return end(Abandoned{});
  auto begun = cancel_of(readers_.local.inspect(
      task_.document, [this, self = shared_from_this()](base::Result<engines::DocumentInfo> info) {
        post([this, info = std::move(info)] { inspected(info); });
      }));
  if (!begun) return retry_later([this] { inspect(); });
  set_cancel(std::move(*begun));
}

void OcrRun::inspected(base::Result<engines::DocumentInfo> info) {
  clear_cancel();
  if (!is_running()) return;
  if (info) return set_pages(requested_pages(task_.spec, info->pages));
  // The engine shuts down; the job goes to another worker.
  if (info.error().code == Code::kJobCancelled) return end(Abandoned{});
  fail(info.error());
}

void OcrRun::set_pages(base::Result<schemas::PageList> pages) {
  if (!pages) return fail(pages.error());
  pages_ = std::move(*pages);
  set_remaining_parts(pages_, task_.finished);
  const bool is_long = pages_.size() > static_cast<std::size_t>(options_.range_pages);
  if (!is_child() && is_long && !is_remote()) return split();
  if (!is_child()) {
    // Refused if the owners' pages_per_day does not allow this many pages; the store has ended the job then.
    context().set_progress_total(static_cast<int>(pages_.size()),
                                 [this, self = shared_from_this()](bool lease_held) {
                                   if (!lease_held && is_running()) stop(StopReason::kLost);
                                 });
  }
  read();
}

// Children read their parent's input, so a document inside the spec first becomes an input.
void OcrRun::split() {
  const auto end_with_split = [this] {
    end(Split{page_ranges(task_.spec, pages_, options_.range_pages, context().store().clock().wall()),
              static_cast<int>(pages_.size())});
  };
  if (job().input || task_.spec.inline_document.empty()) return end_with_split();
  on_pool(
      Queue::kLarge,
      [&blobs = context().store().blobs(), this] {
        return stage_reserved(blobs, task_.spec.inline_document);
      },
      [this, end_with_split](base::Result<storage::Staged> staged) {
        if (staged) return attach(*staged, end_with_split);
        if (jobs::is_local_limit(staged.error())) return retry_later([this] { split(); });
        fail(staged.error());
      });
}

void OcrRun::read() {
  if (is_remote() && readers_.remote == nullptr) return fail(no_remote_model(task_.spec.model));
  process_remaining_parts();
}

base::Result<PartitionedRun::Cancel> OcrRun::recognise(std::vector<int> pages) {
  const auto on_page = [this, self = shared_from_this()](const schemas::OcrPage& page,
                                                         std::chrono::milliseconds cpu) {
    post([this, index = page.index, json = schemas::to_json(page), good = !page.error, cpu] {
      on_part(index, json, good, cpu);
    });
  };
  const bool image_data = task_.spec.include_image_base64;
  if (is_remote()) {
    ProviderOcr::Selection selection{.tenant = job().tenant,
                                     .model = task_.spec.model,
                                     .allowed_models = task_.spec.allowed_models,
                                     .document = task_.document,
                                     .pages = std::move(pages),
                                     .image_data = image_data,
                                     .options = task_.spec.options,
                                     .billing = billing()};
    return readers_.remote->recognise(
        std::move(selection), [on_page](const schemas::OcrPage& page) { on_page(page, {}); }, on_end());
  }
  return cancel_of(readers_.local.recognise(
      task_.document, std::move(pages), {.image_data = image_data},
      [on_page](engines::PageOutcome outcome) {
        const auto cpu = outcome.cpu;
        on_page(to_api_page(std::move(outcome)), cpu);
      },
      on_end()));
}

base::Error OcrRun::time_error(std::chrono::milliseconds limit) const {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(limit).count();
  return base::error(Code::kPageTimeout, "the document has used its " + std::to_string(seconds) +
                                             " s of processor time (ocr.engine_time): send it in parts");
}

base::Error OcrRun::crash_error(int page) const {
  return base::error(Code::kPageFailed,
                     "page " + std::to_string(page) + " crashed the engine process that read it");
}

std::string OcrRun::failed_part(int page, const base::Error& error) const {
  schemas::OcrPage failed;
  failed.index = page;
  failed.error = error;
  return schemas::to_json(failed);
}

// A child's result is its stored pages; a root job assembles the response from all parts.
void OcrRun::merge_parts() {
  if (is_child()) return end(Succeeded{});
  ReplyPlan plan{task_.spec.model, pages_, job().input ? job().input->bytes : -1, options_.reply_bytes_max};
  if (task_.document) plan.document_bytes = static_cast<std::int64_t>(task_.document->size_bytes());
  const bool large = job().children_done || task_.spec.include_image_base64;
  on_pool(
      large ? Queue::kLarge : Queue::kQuick,
      [this, &store = context().store(), plan = std::move(plan)] { return assemble(store, job(), plan); },
      [this](base::Result<Outcome> outcome) { end_with(std::move(outcome), [this] { merge_parts(); }); });
}

OcrRunner::OcrRunner(engines::OcrEngine& engine, FetchDocument fetch, Options options,
                     std::unique_ptr<ProviderOcr> remote)
    : engine_(engine), remote_(std::move(remote)), fetch_(std::move(fetch)), options_(options) {}

std::shared_ptr<Run> OcrRunner::start(const storage::ClaimedJob& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<OcrRun>(job, context, OcrReaders{engine_, remote_.get()}, fetch_, options_,
                                      std::move(ended));
  run->begin();
  return run;
}

}  // namespace millrace::workers
