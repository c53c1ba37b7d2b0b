#include "bus/postgres/postgres_events.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "platform/base/log.h"
#include "schemas/envelope.h"
#include "storage/db/db.h"
#include "storage/postgres/notices.h"

namespace millrace::bus {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kReceiveMax{1'000};
constexpr std::string_view kQueued = "queued ";  // before the name of a kind, on a line of its own
constexpr const char* kNotConnected = "not connected yet";

}  // namespace

struct PostgresEvents::Impl {
  explicit Impl(Options given) : options(std::move(given)), notices(options.url) {}

  void run();
  bool is_over();
  void set_problem(const std::string& why);
  std::string take_text();
  void exchange();
  milliseconds wait() const;
  void receive(const storage::PostgresNotices::Notice& notice, std::set<schemas::Kind>& queued_elsewhere);

  const Options options;
  std::vector<OnHint> subscribers;  // these two are not changed after `start`
  OnQueued on_queued;
  storage::PostgresNotices notices;  // used by the thread only, except for wake()

  mutable std::mutex mutex;  // guards all below
  std::condition_variable changed;
  std::deque<schemas::JobChange> queue;
  std::set<schemas::Kind> queued;
  std::size_t lost = 0;
  bool is_running = false;
  std::string problem = kNotConnected;
  steady_clock::time_point end;  // after `stop`
  std::thread thread;
};

PostgresEvents::PostgresEvents(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
PostgresEvents::~PostgresEvents() { stop(milliseconds(0)); }

void PostgresEvents::publish(schemas::JobChange hint) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (!impl_->is_running) return;
    if (impl_->queue.size() >= impl_->options.queue_max) {
      ++impl_->lost;
      return;
    }
    impl_->queue.push_back(std::move(hint));
    if (impl_->queue.size() > 1) return;
  }
  impl_->notices.wake();
}

void PostgresEvents::publish_queued(schemas::Kind kind) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (!impl_->is_running || !impl_->queued.insert(kind).second) return;
  }
  impl_->notices.wake();
}

void PostgresEvents::subscribe(OnHint on_hint) { impl_->subscribers.push_back(std::move(on_hint)); }
void PostgresEvents::on_queued_elsewhere(OnQueued on_queued) { impl_->on_queued = std::move(on_queued); }

base::Status PostgresEvents::start() {
  const std::lock_guard lock(impl_->mutex);
  impl_->is_running = true;
  impl_->thread = std::thread([this] { impl_->run(); });
  return {};
}

void PostgresEvents::stop(milliseconds deadline) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (!std::exchange(impl_->is_running, false)) return;
    impl_->end = steady_clock::now() + deadline;
  }
  impl_->changed.notify_all();
  impl_->notices.wake();
  impl_->thread.join();
}

HealthReport PostgresEvents::health() const {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->problem.empty()) return {Health::kUp, "PostgreSQL (store.url)"};
  return {Health::kDegraded, "PostgreSQL (store.url): " + impl_->problem};
}

void PostgresEvents::Impl::run() {
  while (!is_over()) {
    try {
      notices.connect();
      set_problem({});
      while (!is_over()) exchange();
    } catch (const storage::DbError& e) {
      set_problem(e.message);
      std::unique_lock lock(mutex);
      changed.wait_for(lock, options.retry_interval, [this] { return !is_running; });
    }
  }
}

// After `stop`, the hints that wait are sent until the deadline.
bool PostgresEvents::Impl::is_over() {
  const std::lock_guard lock(mutex);
  if (is_running) return false;
  return !problem.empty() || steady_clock::now() >= end ||
         (queue.empty() && queued.empty() && !notices.is_sending());
}

void PostgresEvents::Impl::set_problem(const std::string& why) {
  const std::lock_guard lock(mutex);
  if (why == problem) return;
  if (!why.empty()) base::log_warn("hints_failed", {{"why", why}});
  if (why.empty() && problem != kNotConnected) base::log_info("hints_recovered");
  problem = why;
}

// The kinds with new jobs, and as many of the hints that wait as fit into one text, each on a line.
std::string PostgresEvents::Impl::take_text() {
  const std::lock_guard lock(mutex);
  std::string text;
  for (const schemas::Kind kind : std::exchange(queued, {}))
    text.append(text.empty() ? "" : "\n").append(kQueued).append(schemas::name(kind));
  for (; !queue.empty(); queue.pop_front()) {
    const auto line = schemas::encode(queue.front());
    if (!line) {
      ++lost;
      continue;
    }
    if (text.size() + line->size() + 1 > storage::PostgresNotices::kTextBytesMax) break;
    text.append(text.empty() ? "" : "\n").append(*line);
  }
  if (lost > 0) base::log_warn("hints_lost", {{"count", std::exchange(lost, 0)}});
  return text;
}

void PostgresEvents::Impl::exchange() {
  if (!notices.is_sending()) {
    if (const std::string text = take_text(); !text.empty()) notices.send(text);
  }
  std::set<schemas::Kind> queued_elsewhere;
  for (const auto& notice : notices.receive(wait())) receive(notice, queued_elsewhere);
  if (!on_queued) return;
  for (const schemas::Kind kind : queued_elsewhere) on_queued(kind);
}

milliseconds PostgresEvents::Impl::wait() const {
  const std::lock_guard lock(mutex);
  if (is_running) return kReceiveMax;
  const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
  return std::clamp(left, milliseconds(0), kReceiveMax);
}

void PostgresEvents::Impl::receive(const storage::PostgresNotices::Notice& notice,
                                   std::set<schemas::Kind>& queued_elsewhere) {
  std::string_view rest = notice.text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.starts_with(kQueued)) {
      const auto kind = schemas::kind_named(line.substr(kQueued.size()));
      if (kind && !notice.is_own) queued_elsewhere.insert(*kind);
      continue;
    }
    const auto hint = schemas::decode_hint(line);
    if (!hint) {
      base::log_warn("hint_skipped", {{"reason", schemas::name(hint.error())}});
      continue;
    }
    for (const OnHint& subscriber : subscribers) subscriber(*hint);
  }
}

}  // namespace millrace::bus
