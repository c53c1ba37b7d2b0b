// The rules of bus::Dispatch: first those that every implementation keeps, then those of a durable one, then
// what a broker's outage may cost. Kafka is a real broker (tests/support/kafka_broker.h).
#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bus/kafka_dispatch.h"
#include "bus/kafka_producer.h"
#include "bus/local.h"
#include "platform/base/clock.h"
#include "tests/contract/kafka_admin.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

namespace millrace::bus {
namespace {

using namespace std::chrono_literals;
using support::wait_until;

constexpr schemas::Kind kKind = schemas::Kind::kOcr;
constexpr auto kOutage = 40s;  // a deadline for what waits for a broker to come back

Token new_token(std::int64_t epoch = 1) {
  return {{kKind, base::Uuid::make(base::SystemClock().wall())}, epoch, "acme", "00-abc-def-01"};
}

// What a subscriber got, and a way to decide it.
class Taker {
 public:
  Dispatch::OnToken hand_over() {
    return [this](Token token, std::function<void()> taken) {
      const std::lock_guard lock(mutex_);
      tokens_.push_back(std::move(token));
      taken_.push_back(std::move(taken));
      changed_.notify_all();
    };
  }
  bool got(std::size_t count, std::chrono::milliseconds deadline = support::kDeadline) {
    std::unique_lock lock(mutex_);
    return wait_until(
        changed_, lock, [&] { return tokens_.size() >= count; }, deadline);
  }
  bool got(const Token& token, std::chrono::milliseconds deadline = support::kDeadline) {
    std::unique_lock lock(mutex_);
    return wait_until(
        changed_, lock, [&] { return index_of(token).has_value(); }, deadline);
  }
  bool got_any(const std::vector<Token>& tokens, std::chrono::milliseconds deadline) {
    std::unique_lock lock(mutex_);
    const auto got_it = [&](const Token& token) { return index_of(token).has_value(); };
    return wait_until(
        changed_, lock, [&] { return std::ranges::any_of(tokens, got_it); }, deadline);
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return tokens_.size();
  }
  Token token(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return tokens_.at(index);
  }
  void decide(const Token& token) {
    const std::lock_guard lock(mutex_);
    taken_.at(index_of(token).value())();
  }
  void decide_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& taken : taken_) taken();
  }
  std::set<std::string> jobs() {
    const std::lock_guard lock(mutex_);
    std::set<std::string> jobs;
    for (const Token& token : tokens_) jobs.insert(token.job.str());
    return jobs;
  }

 private:
  std::optional<std::size_t> index_of(const Token& token) const {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].job == token.job && tokens_[i].epoch == token.epoch) return i;
    }
    return std::nullopt;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Token> tokens_;
  std::vector<std::function<void()>> taken_;
};

// Counts `done` calls.
class Deliveries {
 public:
  Dispatch::OnDelivered done() {
    return [this](const base::Status& outcome) {
      const std::lock_guard lock(mutex_);
      (outcome ? delivered_ : failed_) += 1;
      changed_.notify_all();
    };
  }
  bool ended(std::size_t count, std::chrono::milliseconds deadline = support::kDeadline) {
    std::unique_lock lock(mutex_);
    return wait_until(
        changed_, lock, [&] { return delivered_ + failed_ >= count; }, deadline);
  }
  std::size_t delivered() {
    const std::lock_guard lock(mutex_);
    return delivered_;
  }
  std::size_t failed() {
    const std::lock_guard lock(mutex_);
    return failed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t delivered_ = 0, failed_ = 0;
};

KafkaCluster cluster_at(const std::string& address, const std::string& prefix) {
  KafkaCluster cluster;
  cluster.brokers = {address};
  cluster.prefix = prefix;
  cluster.partitions = 4;
  cluster.look_every = 500ms;
  cluster.look_again = 50ms;
  return cluster;
}

std::string new_prefix() { return "t-" + base::Uuid::make(base::SystemClock().wall()).str(); }

std::unique_ptr<Dispatch> kafka_dispatch(const std::string& prefix) {
  return std::make_unique<KafkaDispatch>(
      KafkaDispatch::Options{.cluster = cluster_at(support::shared_kafka(), prefix)});
}

bool is_up(const Dispatch& dispatch) { return dispatch.health().health == Health::kUp; }

// ---- every implementation

struct Implementation {
  const char* name;
  std::unique_ptr<Dispatch> (*make)(const std::string& prefix);
};

void PrintTo(const Implementation& row, std::ostream* out) { *out << row.name; }

class DispatchContract : public testing::TestWithParam<Implementation> {
 protected:
  void subscribe_and_start(std::size_t room) {
    dispatch_->subscribe(kKind, "worker-1", taker_.hand_over());
    dispatch_->set_room(kKind, room);
    ASSERT_TRUE(dispatch_->start());
    ASSERT_TRUE(wait_until([&] { return is_up(*dispatch_); })) << dispatch_->health().detail;
  }

  Taker taker_;
  Deliveries deliveries_;
  std::unique_ptr<Dispatch> dispatch_ = GetParam().make(new_prefix());
};

TEST_P(DispatchContract, EveryTokenReachesTheSubscriberWhileThereIsRoom) {
  subscribe_and_start(1000);
  std::set<std::string> published;
  for (int i = 0; i < 200; ++i) {
    const Token token = new_token();
    published.insert(token.job.str());
    dispatch_->publish(token, deliveries_.done());
  }
  ASSERT_TRUE(deliveries_.ended(200));
  EXPECT_EQ(deliveries_.failed(), 0U);
  ASSERT_TRUE(taker_.got(200)) << taker_.count();
  EXPECT_EQ(taker_.jobs(), published);
}

TEST_P(DispatchContract, ATokenArrivesAsItWasPublished) {
  subscribe_and_start(1);
  const Token sent = new_token(7);
  dispatch_->publish(sent, deliveries_.done());
  ASSERT_TRUE(taker_.got(1));
  const Token got = taker_.token(0);
  EXPECT_EQ(got.job, sent.job);
  EXPECT_EQ(got.epoch, 7);
  EXPECT_EQ(got.tenant, "acme");
  EXPECT_EQ(got.traceparent, "00-abc-def-01");
}

TEST_P(DispatchContract, NoMoreTokensAreHandedOverThanThereIsRoom) {
  subscribe_and_start(2);
  for (int i = 0; i < 10; ++i) dispatch_->publish(new_token(), deliveries_.done());
  ASSERT_TRUE(deliveries_.ended(10));
  ASSERT_TRUE(taker_.got(2));
  dispatch_->set_room(kKind, 0);
  dispatch_->stop(5s);
  EXPECT_EQ(taker_.count(), 2U);
}

TEST_P(DispatchContract, RoomThatIsAnnouncedLaterLetsTokensThrough) {
  subscribe_and_start(0);
  dispatch_->set_room(kKind, 1);
  const Token token = new_token();
  dispatch_->publish(token, deliveries_.done());
  EXPECT_TRUE(taker_.got(token));
}

TEST_P(DispatchContract, PublishingWithoutASubscriberIsDelivered) {
  ASSERT_TRUE(dispatch_->start());
  dispatch_->publish(new_token(), deliveries_.done());
  ASSERT_TRUE(deliveries_.ended(1));
  EXPECT_EQ(deliveries_.delivered(), 1U);
}

TEST_P(DispatchContract, PublishingBeforeStartOrAfterStopEndsWithAnError) {
  dispatch_->publish(new_token(), deliveries_.done());
  EXPECT_EQ(deliveries_.failed(), 1U);
  subscribe_and_start(10);
  dispatch_->stop(5s);
  dispatch_->publish(new_token(), deliveries_.done());
  EXPECT_EQ(deliveries_.failed(), 2U);
  EXPECT_EQ(taker_.count(), 0U);
  dispatch_->stop(5s);
}

TEST_P(DispatchContract, StopWaitsForPublishesUnderWay) {
  subscribe_and_start(100);
  for (int i = 0; i < 50; ++i) dispatch_->publish(new_token(), deliveries_.done());
  dispatch_->stop(10s);
  EXPECT_EQ(deliveries_.delivered(), 50U);
}

TEST_P(DispatchContract, ADecisionAfterStopDoesNothing) {
  subscribe_and_start(1);
  dispatch_->publish(new_token(), deliveries_.done());
  ASSERT_TRUE(taker_.got(1));
  dispatch_->stop(5s);
  taker_.decide_all();
  dispatch_.reset();
  taker_.decide_all();
}

INSTANTIATE_TEST_SUITE_P(All, DispatchContract,
                         testing::Values(Implementation{"Local",
                                                        [](const std::string&) -> std::unique_ptr<Dispatch> {
                                                          return std::make_unique<LocalDispatch>();
                                                        }},
                                         Implementation{"Kafka", kafka_dispatch}),
                         [](const auto& row) { return std::string(row.param.name); });

// ---- durable implementations: several processes, restarts

class DurableDispatchContract : public testing::TestWithParam<Implementation> {
 protected:
  // One process with the worker; `taker` outlives it.
  std::unique_ptr<Dispatch> process(const std::string& worker, Taker& taker, std::size_t room) {
    auto dispatch = GetParam().make(prefix_);
    dispatch->subscribe(kKind, worker, taker.hand_over());
    dispatch->set_room(kKind, room);
    EXPECT_TRUE(dispatch->durable());
    EXPECT_TRUE(dispatch->start());
    return dispatch;
  }
  void publish(Dispatch& dispatch, const Token& token) {
    Deliveries deliveries;
    dispatch.publish(token, deliveries.done());
    ASSERT_TRUE(deliveries.ended(1, 30s));
    ASSERT_EQ(deliveries.delivered(), 1U);
  }

  const std::string prefix_ = new_prefix();
};

TEST_P(DurableDispatchContract, AnUndecidedTokenComesAgainAfterARestart) {
  const Token token = new_token();
  Taker before;
  auto first = process("worker-1", before, 1);
  publish(*first, token);
  ASSERT_TRUE(before.got(token));
  first->stop(10s);

  Taker after;
  auto second = process("worker-1", after, 1);
  EXPECT_TRUE(after.got(token, 30s));
}

TEST_P(DurableDispatchContract, ADecidedTokenDoesNotComeAgain) {
  const Token decided = new_token();
  Taker before;
  auto first = process("worker-1", before, 10);
  publish(*first, decided);
  ASSERT_TRUE(before.got(decided));
  before.decide(decided);
  first->stop(10s);

  Taker after;
  auto second = process("worker-1", after, 100);
  std::vector<Token> later;
  for (int i = 0; i < 32; ++i) later.push_back(new_token());  // some in each partition
  for (const Token& token : later) publish(*second, token);
  for (const Token& token : later) ASSERT_TRUE(after.got(token, 30s));
  EXPECT_FALSE(after.jobs().contains(decided.job.str()));
}

TEST_P(DurableDispatchContract, TokensWithoutRoomWaitForIt) {
  Taker taker;
  auto dispatch = process("worker-1", taker, 0);
  std::set<std::string> published;
  for (int i = 0; i < 300; ++i) {  // more than wait in the process: the partitions are paused as well
    const Token token = new_token();
    published.insert(token.job.str());
    dispatch->publish(token, [](const base::Status&) {});
  }
  publish(*dispatch, new_token());
  EXPECT_EQ(taker.count(), 0U);
  dispatch->set_room(kKind, 1);
  ASSERT_TRUE(taker.got(1, 30s));
  dispatch->set_room(kKind, 1000);
  ASSERT_TRUE(taker.got(301, 30s));
  dispatch->stop(10s);
  EXPECT_TRUE(std::ranges::includes(taker.jobs(), published));
}

TEST_P(DurableDispatchContract, TwoWorkersOfOneKindShare) {
  Taker left, right;
  auto first = process("worker-1", left, 10'000);
  auto second = process("worker-2", right, 10'000);
  const auto both_took = [&] {
    publish(*first, new_token());
    return left.count() > 0 && right.count() > 0;
  };
  EXPECT_TRUE(wait_until(both_took, 30s));
}

TEST_P(DurableDispatchContract, AnUnknownEnvelopeIsSkipped) {
  Taker taker;
  auto dispatch = process("worker-1", taker, 10);
  const KafkaCluster cluster = cluster_at(support::shared_kafka(), prefix_);
  ASSERT_TRUE(wait_until([&] { return is_up(*dispatch); }));
  KafkaProducer raw({cluster, 10, {cluster.jobs_topic(kKind)}}, [](const std::string&) {});
  ASSERT_TRUE(raw.open());
  Deliveries deliveries;
  const Token token = new_token();
  for (const char* payload : {R"({"v":99,"job":"?"})", "not JSON", "", R"({"v":1})"}) {
    raw.produce({cluster.jobs_topic(kKind), token.job.str(), payload, {}}, deliveries.done());
  }
  ASSERT_TRUE(deliveries.ended(4));
  ASSERT_EQ(deliveries.failed(), 0U);
  publish(*dispatch, token);  // the same key, thus behind them
  ASSERT_TRUE(taker.got(token));
  EXPECT_EQ(taker.count(), 1U);
}

INSTANTIATE_TEST_SUITE_P(All, DurableDispatchContract,
                         testing::Values(Implementation{"Kafka", kafka_dispatch}),
                         [](const auto& row) { return std::string(row.param.name); });

// ---- outages of a broker of the test's own

class KafkaDispatchOutage : public testing::Test {
 protected:
  ~KafkaDispatchOutage() override {
    dispatch_.reset();
    broker_.kill();
  }

  void run(const std::string& address) {
    KafkaCluster cluster = cluster_at(address, "millrace");
    cluster.message_timeout = 3s;
    dispatch_ = std::make_unique<KafkaDispatch>(KafkaDispatch::Options{.cluster = cluster});
    dispatch_->subscribe(kKind, "worker-1", taker_.hand_over());
    dispatch_->set_room(kKind, 100'000);
    ASSERT_TRUE(dispatch_->start());
  }
  bool comes_up() {
    return wait_until([&] { return is_up(*dispatch_); }, kOutage);
  }
  bool goes_down() {
    return wait_until([&] { return !is_up(*dispatch_); }, kOutage);
  }
  // Publishes until one of the tokens that were published since now arrives.
  bool works() {
    std::vector<Token> published;
    return wait_until(
        [&] {
          Deliveries deliveries;
          published.push_back(new_token());
          dispatch_->publish(published.back(), deliveries.done());
          EXPECT_TRUE(deliveries.ended(1, kOutage)) << "done was not called";
          return taker_.got_any(published, 200ms);
        },
        kOutage);
  }

  support::TempDir folder_;
  support::KafkaBroker broker_{folder_.path() / "kafka"};
  Taker taker_;
  std::unique_ptr<KafkaDispatch> dispatch_;
};

TEST_F(KafkaDispatchOutage, StartSucceedsWithTheBrokerDownAndRecoversWhenItComes) {
  const std::string address = broker_.start();
  broker_.kill();
  run(address);
  Deliveries deliveries;
  dispatch_->publish(new_token(), deliveries.done());
  ASSERT_TRUE(deliveries.ended(1, kOutage));
  EXPECT_EQ(deliveries.failed(), 1U);
  const HealthReport report = dispatch_->health();
  EXPECT_EQ(report.health, Health::kDegraded);
  EXPECT_NE(report.detail.find(address), std::string::npos) << report.detail;
  broker_.start();
  EXPECT_TRUE(comes_up()) << dispatch_->health().detail;
  EXPECT_TRUE(works());
}

TEST_F(KafkaDispatchOutage, ABrokerKilledAndRestartedCostsLatencyOnly) {
  run(broker_.start());
  ASSERT_TRUE(comes_up());
  ASSERT_TRUE(works());
  broker_.kill();
  EXPECT_TRUE(goes_down());
  Deliveries deliveries;
  dispatch_->publish(new_token(), deliveries.done());
  EXPECT_TRUE(deliveries.ended(1, kOutage));
  broker_.start();
  EXPECT_TRUE(comes_up()) << dispatch_->health().detail;
  EXPECT_TRUE(works());
}

TEST_F(KafkaDispatchOutage, ABrokerWhoseDataIsWipedCostsLatencyOnly) {
  run(broker_.start());
  ASSERT_TRUE(comes_up());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(works());
  taker_.decide_all();
  broker_.kill();
  broker_.wipe();
  broker_.start();
  EXPECT_TRUE(works());
  EXPECT_TRUE(comes_up()) << dispatch_->health().detail;
}

TEST_F(KafkaDispatchOutage, ADeletedTopicIsMadeAgain) {
  const std::string address = broker_.start();
  run(address);
  ASSERT_TRUE(comes_up());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(works());
  taker_.decide_all();
  delete_kafka_topic(address, "millrace.jobs.ocr");
  EXPECT_TRUE(works());
  EXPECT_TRUE(comes_up()) << dispatch_->health().detail;
}

}  // namespace
}  // namespace millrace::bus
