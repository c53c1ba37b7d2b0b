#include <gtest/gtest.h>

#include "tests/unit/workers/worker_fixture.h"

namespace millrace::workers {
namespace {

using std::chrono::milliseconds;

// A broker that delivers tokens when the test decides. They are older than the state of the store.
class TokensByHand final : public bus::Dispatch {
 public:
  void publish(bus::Token /*token*/, OnDelivered done) override { done({}); }
  void subscribe(schemas::Kind /*kind*/, std::string /*worker*/, OnToken on_token) override {
    on_token_ = std::move(on_token);
  }
  void set_capacity(schemas::Kind /*kind*/, std::size_t tokens) override {
    if (tokens == 2) ++reports_of_two_;
  }
  base::Status start() override { return {}; }
  void stop(milliseconds /*deadline*/) override {}
  bus::HealthReport health() const override { return {}; }
  std::int64_t lag(schemas::Kind /*kind*/) const override { return 0; }
  bool durable() const override { return true; }

  // How often the worker has said that it has two free slots.
  int reports_of_two() const { return reports_of_two_; }

  // False: the token was not settled in time.
  bool hand(const bus::Token& token) {
    Answer<bool> decided;
    on_token_(token, [done = decided.take()] { done(true); });
    return decided.wait().value_or(false);
  }

 private:
  OnToken on_token_;
  std::atomic<int> reports_of_two_ = 0;
};

// Polls only at its start and after a finished job.
void start_worker(WorkerFixture& fixture, TokensByHand& broker, int slots) {
  Worker::Options options;
  options.data_dir = fixture.dir.str();
  options.lease = {milliseconds(60'000), milliseconds(240'000), milliseconds(60'000)};
  options.poll_interval_min = options.poll_interval_max = milliseconds(60'000);
  const Worker::Dependencies dependencies{*fixture.store, broker, fixture.pool, *fixture.clock,
                                          fixture.metrics};
  fixture.worker = Worker::make(options, dependencies).value();
  fixture.worker->add(schemas::Kind::kOcr, {slots}, std::make_unique<ScriptedRunner>(fixture.script));
  fixture.worker->start();
}

bus::Token token_of(const schemas::JobId& job) {
  return {.job = job, .epoch = 1, .tenant = "default", .traceparent = {}};
}

TEST(Delivery, Rule10_ATokenStartsTheJobWhoseTurnItIsNotTheOneThatItNames) {
  TokensByHand broker;
  WorkerFixture fixture({.with_worker = false});
  fixture.submit("w");
  start_worker(fixture, broker, 3);
  ASSERT_TRUE(fixture.script.attempt(0));
  // The claim at the start and the one after it, which finds nothing. A later claim would take the next jobs.
  ASSERT_TRUE(support::wait_until([&] { return broker.reports_of_two() == 2; }));
  const auto first = fixture.submit("a"), second = fixture.submit("a"), other = fixture.submit("b");
  ASSERT_TRUE(broker.hand(token_of(first)));
  ASSERT_TRUE(broker.hand(token_of(second)));
  const auto started = fixture.script.attempt(2);
  ASSERT_TRUE(started);
  EXPECT_EQ(fixture.script.attempt(1)->job.lease.job, first);
  EXPECT_EQ(started->job.lease.job, other);
}

TEST(Delivery, Rule10_ATokenWhoseJobIsOverCostsNoWrite) {
  TokensByHand broker;
  WorkerFixture fixture({.with_worker = false});
  fixture.script.instant = true;
  start_worker(fixture, broker, 2);
  const auto job = fixture.submit();
  const bus::Token token = token_of(job);
  ASSERT_TRUE(broker.hand(token));
  ASSERT_TRUE(fixture.reaches(job, schemas::JobStatus::kSucceeded));
  const auto costs_nothing = [&] {
    const auto before = fixture.store->stats().operations_total;
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(broker.hand(token));
    return fixture.store->stats().operations_total == before;
  };
  EXPECT_TRUE(support::wait_until(costs_nothing));
  EXPECT_EQ(fixture.script.started(), 1U);
}

}  // namespace
}  // namespace millrace::workers
