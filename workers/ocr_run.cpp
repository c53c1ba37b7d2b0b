#include "workers/ocr_run.h"

#include <algorithm>
#include <chrono>

#include "jobs/policy.h"
#include "platform/base/log.h"
#include "workers/guarded.h"

namespace millrace::workers {
namespace {

using base::Code;
using Lane = base::Pool::Lane;

// Between two tries of what met a bound of ours: a full pool, disk or engine queue.
constexpr std::chrono::milliseconds kAgain{250};

bool is_ours(const base::Error& error) { return error.code == Code::kOverloaded; }

base::Error crash_error(int page) {
  return base::error(Code::kPageFailed, "page " + std::to_string(page) + " ended the process that read it");
}

}  // namespace

OcrRun::OcrRun(storage::Claimed job, AttemptContext& context, PageReader& reader, const FetchDocument& fetch,
               OcrRunner::Options options, Runner::Ended ended)
    : job_(std::move(job)),
      context_(context),
      reader_(reader),
      fetch_(fetch),
      options_(options),
      ended_(std::move(ended)),
      link_(context.link()),
      writer_(std::make_shared<PageWriter>(context)) {}

template <class Work, class Then>
void OcrRun::on_pool(base::Pool::Lane lane, Work work, Then then) {
  const bool posted = context_.pool().post(lane, [self = shared_from_this(), work, then] {
    auto result = std::make_shared<decltype(work())>(guarded("ocr", work));
    self->post([self, then, result] {
      if (self->goes_on()) then(std::move(*result));
    });
  });
  if (!posted) again_later([this, lane, work, then] { on_pool(lane, work, then); });
}

void OcrRun::post(std::function<void()> step) {
  link_.post([self = shared_from_this(), step = std::move(step)] { self->take(step); });
}

void OcrRun::take(const std::function<void()>& step) {
  try {
    step();
  } catch (const std::exception& what) {
    if (!over_) fail(threw("ocr", what));
  }
}

void OcrRun::again_later(std::function<void()> step) {
  timer_ = context_.loop().after(kAgain, [self = shared_from_this(), step = std::move(step)] {
    self->take([&] {
      if (self->goes_on()) step();
    });
  });
}

bool OcrRun::goes_on() {
  if (over_) return false;
  if (!stop_) return true;
  end(Cancelled{});
  return false;
}

void OcrRun::stop(Stop why) {
  if (over_) return;
  stop_ = why;
  if (!cancel_) return;
  cancel_();
  if (cancel_is_silent_) end(Cancelled{});
}

void OcrRun::end(Outcome outcome) {
  if (std::exchange(over_, true)) return;
  writer_->abandon();
  cancel_ = nullptr;
  ended_(std::move(outcome));
}

// The document's own faults end the job; everything else may pass.
void OcrRun::fail(base::Error error) {
  const bool permanent = base::info(error.code).retry == base::RetryClass::kPermanent;
  if (permanent) return end(Fail{std::move(error), {}});
  end(Retry{std::move(error)});
}

void OcrRun::begin() { open(); }

void OcrRun::open() {
  on_pool(
      Lane::kQuick, [&store = context_.store(), this] { return open_task(store, job_); },
      [this](base::Result<OcrTask> task) { opened(std::move(task)); });
}

void OcrRun::opened(base::Result<OcrTask> task) {
  if (!task && is_ours(task.error())) return again_later([this] { open(); });
  if (!task) return fail(task.error());
  task_ = std::move(*task);
  if (job_.children_done) return conclude();
  if (!task_.document) return fetch();
  if (task_.spec.is_range) return choose(task_.spec.pages);
  inspect();
}

void OcrRun::fetch() {
  if (task_.spec.document_url.empty()) {
    return fail(base::error(Code::kDocumentEmpty, "the job's document is not there any more"));
  }
  if (!context_.may_start()) return end(Lost{});
  cancel_is_silent_ = true;
  cancel_ =
      fetch_(task_.spec.document_url, [self = shared_from_this()](base::Result<storage::Staged> staged) {
        self->post([self, staged = std::move(staged)] { self->fetched(staged); });
      });
}

void OcrRun::fetched(base::Result<storage::Staged> staged) {
  if (over_) return;
  cancel_ = nullptr;
  cancel_is_silent_ = false;
  if (!goes_on()) return;
  if (staged) return attach(*staged, [this, document = *staged] { open_fetched(document); });
  // A failed fetch without a word of when to come back will fail again.
  if (staged.error().code == Code::kFetchFailed && staged.error().retry_after.count() == 0) {
    return end(Fail{staged.error(), {}});
  }
  fail(staged.error());
}

void OcrRun::attach(const storage::Staged& staged, std::function<void()> then) {
  context_.attach_input(staged, [self = shared_from_this(), then = std::move(then)](bool held) {
    if (!self->goes_on()) return;
    if (!held) return self->end(Lost{});
    self->take(then);
  });
}

void OcrRun::open_fetched(const storage::Staged& staged) {
  on_pool(
      Lane::kQuick, [staged] { return open_document(*staged); },
      [this](base::Result<DocumentPtr> document) {
        if (!document) return fail(document.error());
        task_.document = std::move(*document);
        inspect();
      });
}

void OcrRun::inspect() {
  if (!context_.may_start()) return end(Lost{});
  auto begun =
      reader_.inspect(task_.document, [self = shared_from_this()](base::Result<engines::DocumentInfo> info) {
        self->post([self, info = std::move(info)] { self->inspected(info); });
      });
  if (!begun) return again_later([this] { inspect(); });
  cancel_ = std::move(*begun);
}

void OcrRun::inspected(base::Result<engines::DocumentInfo> info) {
  cancel_ = nullptr;
  if (!goes_on()) return;
  if (info) return choose(wanted_pages(task_.spec, info->pages));
  if (info.error().code == Code::kJobCancelled) return end(Lost{});  // the engine ends, not the job
  fail(info.error());
}

void OcrRun::choose(base::Result<schemas::PageList> pages) {
  if (!pages) return fail(pages.error());
  pages_ = std::move(*pages);
  left_.insert(pages_.begin(), pages_.end());
  for (const int page : task_.finished) left_.erase(page);
  if (!is_child() && pages_.size() > static_cast<std::size_t>(options_.range_pages)) return split();
  if (!is_child()) context_.set_progress_total(static_cast<int>(pages_.size()), [](bool) {});
  read();
}

// Children take their document from their parent: one that lies in the spec becomes an input first.
void OcrRun::split() {
  const auto go = [this] {
    end(Split{page_ranges(task_.spec, pages_, options_.range_pages, context_.store().clock().wall()),
              static_cast<int>(pages_.size())});
  };
  if (job_.input || task_.spec.inline_document.empty()) return go();
  on_pool(
      Lane::kLarge,
      [&blobs = context_.store().blobs(), this] { return stage_inline_document(blobs, task_.spec); },
      [this, go](base::Result<storage::Staged> staged) {
        if (staged) return attach(*staged, go);
        if (is_ours(staged.error())) return again_later([this] { split(); });
        fail(staged.error());
      });
}

// All pages in one call; after a crash one by one, so that it is plain which page it was.
void OcrRun::read() {
  if (left_.empty()) return write_and([this] { conclude(); });
  if (!context_.may_start()) return end(Lost{});
  std::vector<int> pages(left_.begin(), isolated() ? std::next(left_.begin()) : left_.end());
  auto begun = reader_.recognise(
      task_.document, std::move(pages), {.image_data = task_.spec.include_image_base64},
      [self = shared_from_this()](engines::PageOutcome outcome) {
        const schemas::OcrPage page = shown(std::move(outcome));
        self->post([self, index = page.index, json = schemas::to_json(page), good = !page.error] {
          self->page(index, json, good);
        });
      },
      [self = shared_from_this()](engines::EngineEnd end) {
        self->post([self, end = std::move(end)] { self->engine_ended(end); });
      });
  if (!begun) return again_later([this] { read(); });
  cancel_ = std::move(*begun);
}

void OcrRun::page(int index, const std::string& json, bool good) {
  if (over_ || left_.erase(index) == 0) return;
  context_.metrics().ocr_page(good);
  writer_->add(index, json);
}

void OcrRun::engine_ended(engines::EngineEnd how) {
  cancel_ = nullptr;
  if (!goes_on()) return;
  switch (how.kind) {
    case engines::EngineEnd::Kind::kDone:
      return read();
    case engines::EngineEnd::Kind::kCrashed:
      if (left_.empty()) return read();  // it had nothing left to do
      return crashed(isolated() || how.page < 0 ? *left_.begin() : how.page);
    case engines::EngineEnd::Kind::kCancelled:
      return end(Lost{});  // the engine ends, not the job
    case engines::EngineEnd::Kind::kFailed:
      return fail(how.error.value_or(base::error(Code::kInternal, "the engine failed")));
  }
}

// The job's last crash is not reported: the page to blame fails, its neighbours do not.
void OcrRun::crashed(int blamed) {
  base::log_warn("ocr_page_crashed", {{"job_id", job_.lease.job.str()},
                                      {"tenant", job_.tenant},
                                      {"page", blamed},
                                      {"crashes", job_.crashes + 1}});
  if (job_.crashes + 1 < jobs::kCrashesMax) {
    return write_and([this, blamed] { end(Retry{crash_error(blamed), true}); });
  }
  schemas::OcrPage failed;
  failed.index = blamed;
  failed.error = crash_error(blamed);
  page(blamed, schemas::to_json(failed), false);
  read();
}

void OcrRun::write_and(std::function<void()> then) {
  writer_->flush([self = shared_from_this(), then = std::move(then)](bool held) {
    if (!self->goes_on()) return;
    if (!held) return self->end(Lost{});
    self->take(then);
  });
}

// A child's pages are its result; a root job makes the reply of all parts.
void OcrRun::conclude() {
  if (is_child()) return end(Done{});
  ReplyPlan plan{task_.spec.model, pages_, job_.input ? job_.input->bytes : -1, options_.reply_bytes_max};
  if (task_.document) plan.document_bytes = static_cast<std::int64_t>(task_.document->size_bytes());
  const bool large = job_.children_done || task_.spec.include_image_base64;
  on_pool(
      large ? Lane::kLarge : Lane::kQuick,
      [this, &store = context_.store(), plan = std::move(plan)] { return assemble(store, job_, plan); },
      [this](base::Result<Outcome> outcome) {
        if (outcome) return end(std::move(*outcome));
        if (is_ours(outcome.error())) return again_later([this] { conclude(); });
        fail(outcome.error());
      });
}

}  // namespace millrace::workers
