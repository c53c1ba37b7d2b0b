#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bus/local.h"
#include "jobs/job_submitter.h"
#include "jobs/maintenance.h"
#include "jobs/outbox_publisher.h"
#include "platform/base/clock.h"
#include "storage/jobs/job_claims.h"
#include "storage/jobs/job_queries.h"
#include "tests/support/answer.h"
#include "tests/support/temp_dir.h"

namespace millrace::jobs {

// A dispatch that keeps published tokens and reports deliveries as the test sets.
class KeptDispatch final : public bus::Dispatch {
 public:
  void publish(bus::Token token, OnDelivered done) override;
  void subscribe(schemas::Kind, std::string, OnToken) override {}
  void set_capacity(schemas::Kind, std::size_t) override {}
  base::Status start() override { return {}; }
  void stop(std::chrono::milliseconds) override {}
  bus::HealthReport health() const override { return {}; }
  std::int64_t lag(schemas::Kind) const override { return 0; }
  bool durable() const override {
    if (throws) throw std::bad_alloc();
    return true;
  }

  std::vector<bus::Token> tokens() const;
  std::atomic<bool> down{false};
  std::atomic<int> refused{0};
  std::atomic<bool> throws{false};

 private:
  mutable std::mutex mutex_;
  std::vector<bus::Token> tokens_;
};

// A store with all parts of the jobs module.
class Core {
 public:
  // `clock`: the clock of the store; null: the system clock. `durable`: replaces the local dispatch.
  explicit Core(const base::Clock* clock = nullptr, bus::Dispatch* durable = nullptr);
  ~Core();

  schemas::JobId submit(schemas::JobId id = {});
  std::vector<storage::ClaimedJob> claim(int count = 1);
  schemas::JobView view(const schemas::JobId& job) { return *storage::JobQueries(*store).job("t", job); }
  // Runs one round of maintenance. Returns the wait until the next round.
  std::chrono::milliseconds tick();

  support::TempDir dir;
  base::SystemClock system_clock;
  const base::Clock& clock;
  base::Pool pool{{}};
  std::unique_ptr<storage::Store> store;
  bus::LocalDispatch local;
  bus::LocalEvents events;
  std::unique_ptr<Waiters> waiters;
  Feed feed;  // used by `relay`
  std::unique_ptr<OutboxPublisher> relay;
  std::unique_ptr<Maintenance> upkeep;
  std::unique_ptr<JobSubmitter> submitter;
};

}  // namespace millrace::jobs
