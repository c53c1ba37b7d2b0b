#include "tests/unit/jobs/core.h"

#include <stdexcept>

namespace millrace::jobs {

void KeptDispatch::publish(bus::Token token, OnDelivered done) {
  if (down) {
    ++refused;
    return done(base::error(base::Code::kOverloaded, "the broker is down"));
  }
  {
    const std::lock_guard lock(mutex_);
    tokens_.push_back(std::move(token));
  }
  done({});
}

std::vector<bus::Token> KeptDispatch::tokens() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

Core::Core(const base::Clock* chosen, bus::Dispatch* durable) : clock(chosen ? *chosen : system_clock) {
  storage::Store::Options options;
  options.data_dir = dir.str();
  options.outbox = durable != nullptr;
  options.disk_free_min_bytes = 0;
  auto opened = storage::Store::open(options, clock);
  if (!opened) throw std::runtime_error(opened.error().message);
  store = std::move(*opened);
  bus::Dispatch& dispatch = durable ? *durable : local;
  waiters = std::make_unique<Waiters>(*store);
  relay = std::make_unique<OutboxPublisher>(*store, dispatch, events, *waiters);
  upkeep = std::make_unique<Maintenance>(*store, dispatch, *relay, pool, clock, Maintenance::Options{});
  submitter = std::make_unique<JobSubmitter>(*store, clock);
  relay->set_feed(feed);
  relay->start();
  if (!events.start() || !local.start()) throw std::runtime_error("the local bus did not start");
}

Core::~Core() {
  pool.close();
  store->close();
}

schemas::JobId Core::submit(schemas::JobId id) {
  storage::Submission order;
  order.id = id.uuid.is_nil() ? submitter->new_id(schemas::Kind::kOcr) : id;
  order.tenant = "t";
  order.model = "m";
  order.spec = "{}";
  support::Answer<storage::Submitted> made;
  submitter->submit(std::move(order), made.take());
  return made.wait().value().job;
}

std::vector<storage::ClaimedJob> Core::claim(int count) {
  support::Answer<std::vector<storage::ClaimedJob>> claimed;
  storage::JobClaims(*store).claim({.kind = schemas::Kind::kOcr, .worker = "w", .count = count},
                                   claimed.take());
  return claimed.wait().value();
}

std::chrono::milliseconds Core::tick() {
  support::Answer<std::chrono::milliseconds> next;
  upkeep->tick([done = next.take()](std::chrono::milliseconds delay) { done(delay); });
  return next.wait().value();
}

}  // namespace millrace::jobs
