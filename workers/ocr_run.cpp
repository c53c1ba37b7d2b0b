#include "workers/ocr_run.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "jobs/policy.h"
#include "platform/base/log.h"
#include "storage/job_queries.h"

namespace millrace::workers {
namespace {

base::Error unavailable() {
  base::Error error = base::error(base::Code::kOverloaded, "the worker is busy");
  error.retry_after = std::chrono::seconds(1);
  return error;
}

// Chosen pages of a document, ascending and each once; all if none is named.
base::Result<schemas::PageList> choose(schemas::PageList wanted, int pages) {
  if (wanted.empty()) {
    wanted.resize(static_cast<std::size_t>(pages));
    std::iota(wanted.begin(), wanted.end(), 0);
    return wanted;
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  if (wanted.front() >= 0 && wanted.back() < pages) return wanted;
  return base::error(base::Code::kInvalidField,
                     "pages: the document has " + std::to_string(pages) + " pages, numbered from 0", "pages");
}

schemas::OcrPage page_of(engines::PageOutcome outcome) {
  schemas::OcrPage page;
  page.index = outcome.index;
  page.error = std::move(outcome.error);
  if (page.error) return page;
  page.markdown = std::move(outcome.markdown);
  if (outcome.dimensions) {
    page.dimensions = schemas::OcrDimensions{outcome.dimensions->dpi, outcome.dimensions->height,
                                             outcome.dimensions->width};
  }
  for (engines::PageImage& image : outcome.images) {
    page.images.push_back({image.id, image.x0, image.y0, image.x1, image.y1, std::move(image.data_uri)});
  }
  return page;
}

// A page as a part; above the inline bound it is staged, which blocks.
base::Result<storage::JobOutcomes::Part> part_of(storage::Blobs& blobs, engines::PageOutcome outcome) {
  storage::JobOutcomes::Part part;
  part.index = outcome.index;
  std::string text = schemas::to_json(page_of(std::move(outcome)));
  if (text.size() <= storage::kInlineMax) {
    part.payload.bytes = std::move(text);
    return part;
  }
  auto staged = stage_text(blobs, text);
  if (!staged) return staged.error();
  part.payload.blob = *std::move(staged);
  return part;
}

}  // namespace

OcrRun::OcrRun(const storage::Claimed& job, AttemptContext& context, engines::OcrEngine& engine,
               const FetchDocument& fetch, OcrRunner::Options options, Runner::Ended ended)
    : job_(job),
      context_(&context),
      link_(context.link()),
      engine_(engine),
      fetch_(fetch),
      options_(options),
      ended_(std::move(ended)) {}

template <class T>
void OcrRun::on_pool(std::function<T()> work, std::function<void(T)> then) {
  const bool posted = context_->pool().post(
      base::Pool::Lane::kLarge, [self = shared_from_this(), work = std::move(work), then = std::move(then)] {
        auto value = std::make_shared<T>(work());
        self->link_.post([self, value, then] {
          if (self->context_ != nullptr) then(std::move(*value));
        });
      });
  if (!posted) end(Retry{unavailable()});
}

void OcrRun::end(Outcome outcome) {
  if (context_ == nullptr) return;
  context_ = nullptr;
  if (cancel_fetch_) std::exchange(cancel_fetch_, nullptr)();
  ticket_.cancel();
  std::exchange(ended_, nullptr)(std::move(outcome));
}

void OcrRun::stop(Stop why) {
  switch (why) {
    case Stop::kLost:
      return end(Lost{});
    case Stop::kCancel:
    case Stop::kDrain:
      return end(Cancelled{});
  }
}

// What may pass by itself is tried again; the rest is the job's end.
void OcrRun::fail_or_retry(const base::Error& error) {
  const bool may_pass =
      base::info(error.code).retry != base::RetryClass::kPermanent || error.retry_after.count() > 0;
  may_pass ? end(Retry{error}) : end(Fail{error, {}});
}

void OcrRun::begin() {
  if (!job_.spec_blob) return with_spec(schemas::ocr_spec_from_json(job_.spec));
  read_spec();
}

void OcrRun::read_spec() {
  on_pool<base::Result<schemas::OcrSpec>>(
      [&store = context_->store(), ref = *job_.spec_blob]() -> base::Result<schemas::OcrSpec> {
        auto text = store.blobs().read(ref);
        if (!text) return text.error();
        return schemas::ocr_spec_from_json(*text);
      },
      [this](base::Result<schemas::OcrSpec> spec) { with_spec(std::move(spec)); });
}

void OcrRun::with_spec(base::Result<schemas::OcrSpec> spec) {
  if (!spec) return end(Fail{spec.error(), {}});
  spec_ = *std::move(spec);
  if (job_.input || !spec_.inline_document.empty()) return open_document();
  fetch_document();
}

void OcrRun::fetch_document() {
  if (!context_->may_start()) return end(Lost{});
  cancel_fetch_ =
      fetch_(spec_.document_url, [self = shared_from_this()](base::Result<storage::Staged> fetched) {
        self->link_.post([self, fetched = std::move(fetched)] {
          if (self->context_ != nullptr) self->keep_fetched(fetched);
        });
      });
}

void OcrRun::keep_fetched(base::Result<storage::Staged> fetched) {
  cancel_fetch_ = nullptr;
  if (!fetched) return fail_or_retry(fetched.error());
  job_.input = (*fetched)->ref();
  context_->attach_input(*fetched, [self = shared_from_this(), staged = *fetched](bool held) {
    if (self->context_ == nullptr) return;
    held ? self->open_document() : self->end(Lost{});
  });
}

void OcrRun::open_document() {
  on_pool<base::Result<OpenedDocument>>(
      [&store = context_->store(), input = job_.input, text = spec_.inline_document] {
        return input ? open_input(store.blobs(), *input) : open_inline(text);
      },
      [this](base::Result<OpenedDocument> opened) { with_document(std::move(opened)); });
}

void OcrRun::with_document(base::Result<OpenedDocument> opened) {
  if (!opened) return fail_or_retry(opened.error());
  opened_ = *std::move(opened);
  if (job_.children_done) {
    return on_pool<base::Result<OcrRanges>>(
        [&store = context_->store(), id = root()] { return ranges_of(store, id); },
        [this](base::Result<OcrRanges> ranges) {
          if (!ranges) return fail_or_retry(ranges.error());
          pages_ = std::move(ranges->pages);
          merge(std::move(ranges->errors));
        });
  }
  if (!spec_.is_range) return inspect();
  pages_ = spec_.pages;
  skip_done();
}

void OcrRun::inspect() {
  if (!context_->may_start()) return end(Lost{});
  auto ticket = engine_.inspect(opened_.document,
                                [self = shared_from_this()](base::Result<engines::DocumentInfo> info) {
                                  self->link_.post([self, info = std::move(info)] {
                                    if (self->context_ != nullptr) self->with_info(info);
                                  });
                                });
  if (!ticket) return end(Retry{ticket.error()});
  ticket_ = *std::move(ticket);
}

void OcrRun::with_info(base::Result<engines::DocumentInfo> info) {
  if (!info) {
    const bool crashed = info.error().code == base::Code::kPoisonJob;
    return crashed ? end(Retry{info.error(), true}) : fail_or_retry(info.error());
  }
  auto pages = choose(spec_.pages, info->pages);
  if (!pages) return end(Fail{pages.error(), {}});
  pages_ = *std::move(pages);
  const bool is_long = static_cast<int>(pages_.size()) > options_.range_pages;
  if (is_long) return job_.input ? split(pages_) : share_inline(pages_);
  context_->set_progress_total(static_cast<int>(pages_.size()), [self = shared_from_this()](bool held) {
    if (self->context_ == nullptr) return;
    held ? self->skip_done() : self->end(Lost{});
  });
}

// Ranges open the document by the parent's input: what travelled in the spec becomes one.
void OcrRun::share_inline(schemas::PageList pages) {
  on_pool<base::Result<storage::Staged>>(
      [&store = context_->store(), text = spec_.inline_document] {
        return stage_inline(store.blobs(), text);
      },
      [this, pages = std::move(pages)](base::Result<storage::Staged> staged) {
        if (!staged) return fail_or_retry(staged.error());
        context_->attach_input(*staged, [self = shared_from_this(), pages](bool held) {
          if (self->context_ == nullptr) return;
          held ? self->split(pages) : self->end(Lost{});
        });
      });
}

void OcrRun::split(const schemas::PageList& pages) {
  Split outcome;
  outcome.progress_total = static_cast<int>(pages.size());
  const auto step = static_cast<std::size_t>(options_.range_pages);
  for (std::size_t begin = 0; begin < pages.size(); begin += step) {
    schemas::OcrSpec range;
    range.model = spec_.model;
    range.include_image_base64 = spec_.include_image_base64;
    range.is_range = true;
    const auto first = pages.begin() + static_cast<std::ptrdiff_t>(begin);
    range.pages.assign(first, first + static_cast<std::ptrdiff_t>(std::min(step, pages.size() - begin)));
    const base::Uuid id = base::Uuid::make(context_->store().clock().wall());
    outcome.children.push_back({schemas::to_json(range), schemas::JobId{schemas::Kind::kOcr, id}});
  }
  end(std::move(outcome));
}

void OcrRun::skip_done() {
  on_pool<base::Result<std::vector<int>>>(
      [&store = context_->store(), id = root()] { return storage::JobQueries(store).part_indexes(id); },
      [this](base::Result<std::vector<int>> done) {
        if (!done) return fail_or_retry(done.error());
        std::vector<int> left;
        std::sort(done->begin(), done->end());
        std::set_difference(pages_.begin(), pages_.end(), done->begin(), done->end(),
                            std::back_inserter(left));
        left.empty() ? conclude() : recognise(std::move(left));
      });
}

void OcrRun::recognise(std::vector<int> pages) {
  if (!context_->may_start()) return end(Lost{});
  engine_end_.reset();
  engines::RecogniseOptions options;
  options.image_data = spec_.include_image_base64;
  auto ticket = engine_.recognise(
      opened_.document, std::move(pages), options,
      [self = shared_from_this()](engines::PageOutcome page) {
        self->link_.post([self, page = std::move(page)] {
          if (self->context_ != nullptr) self->take_page(page);
        });
      },
      [self = shared_from_this()](engines::EngineEnd end) {
        self->link_.post([self, end = std::move(end)] {
          if (self->context_ != nullptr) self->engine_ended(end);
        });
      });
  if (!ticket) return end(Retry{ticket.error()});
  ticket_ = *std::move(ticket);
}

void OcrRun::take_page(engines::PageOutcome page) {
  const bool is_large = spec_.include_image_base64 && !page.images.empty();
  if (!is_large) {
    storage::JobOutcomes::Part part;
    part.index = page.index;
    part.payload.bytes = schemas::to_json(page_of(page));
    if (part.payload.bytes.size() <= storage::kInlineMax) {
      unwritten_.push_back(std::move(part));
      return write_pages();
    }
  }
  writing_pages_on_pool_ += 1;
  on_pool<base::Result<storage::JobOutcomes::Part>>(
      [&store = context_->store(), page = std::move(page)] { return part_of(store.blobs(), page); },
      [this](base::Result<storage::JobOutcomes::Part> part) {
        writing_pages_on_pool_ -= 1;
        if (!part) return fail_or_retry(part.error());
        unwritten_.push_back(*std::move(part));
        write_pages();
      });
}

// What has come together since the last write goes in one move.
void OcrRun::write_pages() {
  if (writing_ || unwritten_.empty()) return;
  writing_ = true;
  std::vector<storage::JobOutcomes::Part> parts(std::make_move_iterator(unwritten_.begin()),
                                                std::make_move_iterator(unwritten_.end()));
  unwritten_.clear();
  context_->write_parts(std::move(parts), [self = shared_from_this()](bool held) {
    if (self->context_ == nullptr) return;
    if (!held) return self->end(Lost{});
    self->writing_ = false;
    self->write_pages();
    self->after_engine();
  });
}

void OcrRun::engine_ended(const engines::EngineEnd& end) {
  engine_end_ = end;
  after_engine();
}

// Once the engine has ended and every page that it gave is stored.
void OcrRun::after_engine() {
  if (!engine_end_ || writing_ || !unwritten_.empty() || writing_pages_on_pool_ > 0) return;
  const engines::EngineEnd ended = *std::exchange(engine_end_, std::nullopt);
  switch (ended.kind) {
    case engines::EngineEnd::Kind::kDone:
      return conclude();
    case engines::EngineEnd::Kind::kCancelled:
      return end(Cancelled{});
    case engines::EngineEnd::Kind::kFailed:
      return fail_or_retry(*ended.error);
    case engines::EngineEnd::Kind::kCrashed: {
      const bool is_last_try = job_.crashes + 1 >= jobs::kCrashesMax;
      if (is_last_try && ended.page >= 0) return record_killer(ended.page);
      return end(
          Retry{base::error(base::Code::kPoisonJob, "the engine died while it read the document"), true});
    }
  }
}

// The page that kills the engine fails alone; the others are read on.
void OcrRun::record_killer(int page) {
  engines::PageOutcome outcome;
  outcome.index = page;
  outcome.error = base::error(base::Code::kPageFailed, "the engine died while it read this page");
  auto part = part_of(context_->store().blobs(), std::move(outcome));
  context_->write_parts({*std::move(part)}, [self = shared_from_this()](bool held) {
    if (self->context_ == nullptr) return;
    held ? self->skip_done() : self->end(Lost{});
  });
}

void OcrRun::conclude() {
  if (spec_.is_range) return end(Done{});
  merge({});
}

void OcrRun::merge(std::map<int, base::Error> missing) {
  OcrMerge what{spec_.model, pages_, std::move(missing), opened_.bytes};
  on_pool<base::Result<std::string>>([&store = context_->store(), id = root(),
                                      what = std::move(what)] { return merge_pages(store, id, what); },
                                     [this](base::Result<std::string> reply) { finish(std::move(reply)); });
}

void OcrRun::finish(base::Result<std::string> reply) {
  if (!reply) return fail_or_retry(reply.error());
  if (reply->size() <= storage::kInlineMax) return end(Done{{*std::move(reply), nullptr}});
  on_pool<base::Result<storage::Staged>>(
      [&store = context_->store(), text = *std::move(reply)] { return stage_text(store.blobs(), text); },
      [this](base::Result<storage::Staged> staged) {
        if (!staged) return fail_or_retry(staged.error());
        end(Done{{{}, *std::move(staged)}});
      });
}

}  // namespace millrace::workers
