#include "ai/engines/ocr_engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <sys/eventfd.h>
#include <unistd.h>

#include "ai/engines/engine_child.h"
#include "ai/engines/ocr_call.h"
#include "ai/engines/pdf_info.h"
#include "platform/base/log.h"

namespace millrace::engines {
namespace {

using base::Code;
using std::chrono::milliseconds;

// Beyond the child's own bounds of a page: then the child itself is stuck and is killed.
constexpr milliseconds kStartAgain{5'000};
constexpr milliseconds kChildGrace{10'000};

EngineEnd ended(EngineEnd::Kind kind) { return {kind, -1, std::nullopt}; }

EngineEnd failed(base::Error error) { return {EngineEnd::Kind::kFailed, -1, std::move(error)}; }

}  // namespace

struct OcrEngine::Shared {
  Shared(process::Spawner& starter, Options chosen, process::Jail locked)
      : spawner(starter), options(std::move(chosen)), jail(std::move(locked)) {}

  process::Spawner& spawner;
  const Options options;
  const process::Jail jail;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Ticket::State>> queue;
  std::vector<std::shared_ptr<Ticket::State>> running;
  std::size_t idle_children = 0;  // children whose pump serves no call
  bool closed = false;
  Counts counts;
  std::vector<std::unique_ptr<Pump>> pumps;
};

// A thread with at most one child: takes the next call, sees it through, keeps the child for a while.
class OcrEngine::Pump {
 public:
  explicit Pump(Shared& shared) : shared_(shared), thread_([this] { run(); }) {}

 private:
  using Call = std::shared_ptr<Ticket::State>;

  void run() {
    while (const Call call = next_call()) {
      EngineEnd end = serve(*call);
      {
        const std::lock_guard lock(shared_.mutex);
        std::erase(shared_.running, call);
        // Free from here on: what the callback submits shall find this child, not start another.
        if (child_) ++shared_.idle_children;
      }
      call->end(std::move(end));
    }
    drop_child(false);
  }

  // Waits; an idle child is let go after a while. nullptr: the engine is closed.
  Call next_call() {
    std::unique_lock lock(shared_.mutex);
    const auto something = [this] { return shared_.closed || !shared_.queue.empty(); };
    for (;;) {
      if (!child_) {
        // Calls go to the idle children first: a new one is started only when there are more calls than
        // these.
        shared_.changed.wait(
            lock, [this] { return shared_.closed || shared_.queue.size() > shared_.idle_children; });
      } else if (!shared_.changed.wait_for(lock, shared_.options.idle_after, something)) {
        --shared_.idle_children;
        lock.unlock();
        drop_child(false);
        lock.lock();
        continue;
      }
      if (!shared_.queue.empty()) break;
      if (shared_.closed) return nullptr;
    }
    if (child_) --shared_.idle_children;
    Call call = std::move(shared_.queue.front());
    shared_.queue.pop_front();
    shared_.running.push_back(call);
    return call;
  }

  EngineEnd serve(Ticket::State& call) {
    for (;;) {
      if (call.is_cancelled()) return ended(EngineEnd::Kind::kCancelled);
      if (auto status = ready_child(); !status) return failed(not_now(status.error()));
      if (!child_->open(call.document) || !child_->send(request_of(call))) return crashed(call);
      const auto end = follow(call);
      if (end) return *end;
      if (call.left.empty()) return ended(EngineEnd::Kind::kDone);
    }
  }

  // An engine that cannot start is no fault of the job: it waits, at no cost of an attempt, until it can.
  static base::Error not_now(const base::Error& why) {
    base::log_error("engine.cannot_start", {{"error", why.message}});
    base::Error error = base::error(base::Code::kOverloaded, "the OCR engine cannot be started now");
    error.retry_after = kStartAgain;
    return error;
  }

  static Request request_of(const Ticket::State& call) {
    Request request;
    request.kind = call.inspect ? Request::Kind::kInspect : Request::Kind::kRecognise;
    request.pages.assign(call.left.begin(), call.left.end());
    request.image_data = call.options.image_data;
    return request;
  }

  // A child that died between two calls is replaced before the next.
  base::Status ready_child() {
    if (child_ && child_->alive()) return {};
    drop_child(child_.has_value());
    const Options& options = shared_.options;
    auto child = EngineChild::start(shared_.spawner, shared_.jail, options.engine_path, options.limits);
    if (!child) return std::move(child.error());
    child_ = std::move(*child);
    const std::lock_guard lock(shared_.mutex);
    ++shared_.counts.children_running;
    ++shared_.counts.children_started;
    return {};
  }

  void drop_child(bool crash) {
    if (!child_) return;
    child_.reset();
    const std::lock_guard lock(shared_.mutex);
    --shared_.counts.children_running;
    if (crash) ++shared_.counts.children_crashed;
  }

  // Events until the call's end; nullopt: the child was killed over one page, and the others go on in a new
  // one.
  std::optional<EngineEnd> follow(Ticket::State& call) {
    const EngineLimits& limits = shared_.options.limits;
    for (;;) {
      Event event;
      switch (child_->next(event, limits.page_wall + limits.page_cpu + kChildGrace, call.cancelled.get())) {
        case EngineChild::Got::kInterrupted:
          drop_child(false);
          return ended(EngineEnd::Kind::kCancelled);
        case EngineChild::Got::kGone:
          return child_->hit_cpu_bound() ? stuck(call, too_much_cpu(call)) : crashed(call);
        case EngineChild::Got::kTimeout:
          return stuck(call, too_late(call));
        case EngineChild::Got::kEvent:
          if (auto end = handle(call, std::move(event))) return end;
      }
    }
  }

  std::optional<EngineEnd> handle(Ticket::State& call, Event event) {
    switch (event.kind) {
      case Event::Kind::kBegin:
        call.at = event.page;
        return std::nullopt;
      case Event::Kind::kPage:
        // A page that was not asked for, or comes twice, is the word of a broken child.
        if (call.inspect || call.left.erase(event.outcome.index) == 0) return crashed(call);
        call.on_page(std::move(event.outcome));
        return std::nullopt;
      case Event::Kind::kInfo:
        if (!call.inspect) return crashed(call);
        call.info = DocumentInfo{call.document->media(), event.pages};
        return ended(EngineEnd::Kind::kDone);
      case Event::Kind::kFailed:
        return failed(std::move(event.error));
      case Event::Kind::kDone:
        return call.left.empty() ? ended(EngineEnd::Kind::kDone) : crashed(call);
    }
    return crashed(call);
  }

  EngineEnd crashed(const Ticket::State& call) {
    drop_child(true);
    base::log_warn("engine.child_crashed",
                   {{"page", call.at}, {"media", schemas::name(call.document->media())}});
    return {EngineEnd::Kind::kCrashed, call.blamed(), std::nullopt};
  }

  static base::Error too_late(const Ticket::State& call) {
    if (call.inspect) return opened_too_slowly();
    return base::error(Code::kPageTimeout, "the page takes too long (ocr.page_timeout)");
  }

  base::Error too_much_cpu(const Ticket::State& call) const {
    if (call.inspect) return opening_is_a_bomb();
    const auto bound = std::chrono::ceil<std::chrono::seconds>(shared_.options.limits.child_cpu()).count();
    return base::error(Code::kPageTimeout,
                       "the page takes more than " + std::to_string(bound) + " s of processor time");
  }

  // The child hung on one page, and is or was ended over it: that page fails alone.
  std::optional<EngineEnd> stuck(Ticket::State& call, base::Error why) {
    drop_child(true);
    base::log_warn(
        "engine.child_stuck",
        {{"page", call.at}, {"media", schemas::name(call.document->media())}, {"why", why.message}});
    if (call.inspect) return failed(std::move(why));
    if (call.left.empty()) return ended(EngineEnd::Kind::kDone);
    const int page = call.blamed();
    PageOutcome outcome;
    outcome.index = page;
    outcome.error = std::move(why);
    call.left.erase(page);
    call.on_page(std::move(outcome));
    return std::nullopt;
  }

  Shared& shared_;
  std::optional<EngineChild> child_;
  std::jthread thread_;
};

OcrEngine::OcrEngine(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}

base::Result<std::unique_ptr<OcrEngine>> OcrEngine::make(process::Spawner& spawner, Options options,
                                                         process::Confinement confinement) {
  if (::access(options.engine_path.c_str(), X_OK) != 0) {
    return base::error(Code::kInternal, "the program " + options.engine_path + " is not there: build it");
  }
  auto jail = process::Jail::make(options.jail, confinement);
  if (!jail) return std::move(jail.error());
  const unsigned children = std::max(1U, options.children);
  auto shared = std::make_unique<Shared>(spawner, std::move(options), std::move(*jail));
  std::unique_ptr<OcrEngine> engine(new OcrEngine(std::move(shared)));
  for (unsigned i = 0; i < children; ++i) {
    engine->shared_->pumps.push_back(std::make_unique<Pump>(*engine->shared_));
  }
  return engine;
}

OcrEngine::~OcrEngine() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
    for (const auto& call : shared_->queue) ::eventfd_write(call->cancelled.get(), 1);
    for (const auto& call : shared_->running) ::eventfd_write(call->cancelled.get(), 1);
  }
  shared_->changed.notify_all();
  shared_->pumps.clear();
}

base::Result<Ticket> OcrEngine::submit(std::shared_ptr<Ticket::State> call) {
  if (!call->cancelled)
    return base::error(Code::kOverloaded, "no file descriptor is left: raise `ulimit -n`");
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->closed || shared_->queue.size() >= shared_->options.queue_max) {
      return base::error(Code::kOverloaded, "too many documents wait for the local engine");
    }
    shared_->queue.push_back(call);
  }
  shared_->changed.notify_all();
  return Ticket(std::move(call));
}

base::Result<Ticket> OcrEngine::inspect(std::shared_ptr<const Document> document,
                                        std::function<void(base::Result<DocumentInfo>)> done) {
  auto call = std::make_shared<Ticket::State>();
  call->document = std::move(document);
  call->inspect = true;
  call->inspected = std::move(done);
  return submit(std::move(call));
}

base::Result<Ticket> OcrEngine::recognise(std::shared_ptr<const Document> document, std::vector<int> pages,
                                          RecogniseOptions options, std::function<void(PageOutcome)> on_page,
                                          std::function<void(EngineEnd)> done) {
  auto call = std::make_shared<Ticket::State>();
  call->document = std::move(document);
  call->options = options;
  call->left.insert(pages.begin(), pages.end());
  call->on_page = std::move(on_page);
  call->done = std::move(done);
  return submit(std::move(call));
}

OcrEngine::Counts OcrEngine::counts() const {
  const std::lock_guard lock(shared_->mutex);
  Counts counts = shared_->counts;
  counts.queued = shared_->queue.size();
  return counts;
}

}  // namespace millrace::engines
