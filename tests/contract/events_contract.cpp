// Contract of bus::Events: rules for every implementation, rules for several processes, and the permitted
// effects of an outage. Kafka is a real broker (tests/support/kafka_broker.h), PostgreSQL a real server.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bus/kafka/kafka_events.h"
#include "bus/kafka/kafka_producer.h"
#include "bus/local.h"
#include "bus/postgres/postgres_events.h"
#include "platform/base/clock.h"
#include "storage/postgres/notices.h"
#include "tests/contract/kafka_admin.h"
#include "tests/contract/kafka_outage.h"
#include "tests/contract/postgres_server.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/wait_until.h"

namespace millrace::bus {
namespace {

using namespace std::chrono_literals;
using support::wait_until;

schemas::JobChange new_hint(std::int64_t version = 1,
                            schemas::JobStatus status = schemas::JobStatus::kQueued) {
  return {{schemas::Kind::kOcr, base::Uuid::make(base::SystemClock().wall())}, "acme", version, status};
}

// Records the events that a subscriber received.
class Reader {
 public:
  Events::OnHint on_hint() {
    return [this](const schemas::JobChange& hint) {
      const std::lock_guard lock(mutex_);
      hints_.push_back(hint);
      changed_.notify_all();
    };
  }
  bool saw_all(const std::vector<schemas::JobChange>& hints,
               std::chrono::milliseconds deadline = support::kDeadline) {
    std::unique_lock lock(mutex_);
    return wait_until(
        changed_, lock,
        [&] { return std::ranges::all_of(hints, [&](const schemas::JobChange& h) { return has(h); }); },
        deadline);
  }
  bool saw_any(const std::vector<schemas::JobChange>& hints, std::chrono::milliseconds deadline) {
    std::unique_lock lock(mutex_);
    return wait_until(
        changed_, lock,
        [&] { return std::ranges::any_of(hints, [&](const schemas::JobChange& h) { return has(h); }); },
        deadline);
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return hints_.size();
  }

 private:
  bool has(const schemas::JobChange& hint) const {
    return std::ranges::any_of(hints_, [&](const schemas::JobChange& seen) {
      return seen.job == hint.job && seen.version == hint.version && seen.status == hint.status &&
             seen.tenant == hint.tenant;
    });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<schemas::JobChange> hints_;
};

std::unique_ptr<Events> kafka_events(const std::string& prefix) {
  return std::make_unique<KafkaEvents>(
      KafkaEvents::Options{.cluster = cluster_at(support::shared_kafka(), prefix)});
}

std::unique_ptr<Events> postgres_events(const std::string& prefix) {
  return std::make_unique<PostgresEvents>(
      PostgresEvents::Options{.url = storage::testing::schema_url(prefix)});
}

struct Implementation {
  const char* name;
  std::unique_ptr<Events> (*make)(const std::string& prefix);
};

void PrintTo(const Implementation& row, std::ostream* out) { *out << row.name; }

class EventsContract : public testing::TestWithParam<Implementation> {
 protected:
  std::unique_ptr<Events> process(const std::vector<Reader*>& readers) {
    auto events = GetParam().make(prefix_);
    for (Reader* reader : readers) events->subscribe(reader->on_hint());
    EXPECT_TRUE(events->start());
    EXPECT_TRUE(wait_until([&] { return is_up(*events); })) << events->health().detail;
    return events;
  }

  const std::string prefix_ = new_prefix();
};

// ---- every implementation

TEST_P(EventsContract, EverySubscriberSeesEveryHint) {
  Reader left, right;
  const auto events = process({&left, &right});
  std::vector<schemas::JobChange> hints;
  for (int i = 1; i <= 200; ++i) hints.push_back(new_hint(i));
  for (const schemas::JobChange& hint : hints) events->publish(hint);
  EXPECT_TRUE(left.saw_all(hints));
  EXPECT_TRUE(right.saw_all(hints));
}

TEST_P(EventsContract, EveryStatusArrivesAsItWasPublished) {
  Reader reader;
  const auto events = process({&reader});
  std::vector<schemas::JobChange> hints;
  for (const auto status :
       {schemas::JobStatus::kQueued, schemas::JobStatus::kRunning, schemas::JobStatus::kWaiting,
        schemas::JobStatus::kSucceeded, schemas::JobStatus::kFailed, schemas::JobStatus::kCancelled,
        schemas::JobStatus::kExpired}) {
    hints.push_back(new_hint(5, status));
    events->publish(hints.back());
  }
  EXPECT_TRUE(reader.saw_all(hints));
}

TEST_P(EventsContract, NothingIsHandedOverBeforeStartOrAfterStop) {
  Reader reader;
  auto events = GetParam().make(prefix_);
  events->subscribe(reader.on_hint());
  events->publish(new_hint());
  ASSERT_TRUE(events->start());
  ASSERT_TRUE(wait_until([&] { return is_up(*events); })) << events->health().detail;
  events->stop(5s);
  events->publish(new_hint());
  events->stop(5s);
  EXPECT_EQ(reader.count(), 0U);
}

TEST_P(EventsContract, APublisherNeedsNoSubscriber) {
  const auto events = process({});
  events->publish(new_hint());
  events->stop(5s);
}

INSTANTIATE_TEST_SUITE_P(All, EventsContract,
                         testing::Values(Implementation{"Local",
                                                        [](const std::string&) -> std::unique_ptr<Events> {
                                                          return std::make_unique<LocalEvents>();
                                                        }},
                                         Implementation{"Kafka", kafka_events},
                                         Implementation{"Postgres", postgres_events}),
                         [](const auto& row) { return std::string(row.param.name); });

// ---- several processes

class SharedEventsContract : public EventsContract {};

TEST_P(SharedEventsContract, EverySubscriberOfEveryProcessSeesEveryHint) {
  Reader first, second;
  const auto one = process({&first});
  const auto two = process({&second});
  const auto publisher = process({});
  std::vector<schemas::JobChange> hints;
  for (int i = 1; i <= 50; ++i) hints.push_back(new_hint(i));
  for (const schemas::JobChange& hint : hints) publisher->publish(hint);
  EXPECT_TRUE(first.saw_all(hints));
  EXPECT_TRUE(second.saw_all(hints));
}

TEST_P(SharedEventsContract, HintsFromBeforeTheStartAreNotRead) {
  Reader first;
  const auto one = process({&first});
  const schemas::JobChange before = new_hint();
  one->publish(before);
  ASSERT_TRUE(first.saw_all({before}));

  Reader second;
  const auto two = process({&second});
  std::vector<schemas::JobChange> later;
  for (int i = 1; i <= 32; ++i) later.push_back(new_hint(i));  // every partition gets some
  for (const schemas::JobChange& hint : later) one->publish(hint);
  ASSERT_TRUE(second.saw_all(later));
  EXPECT_FALSE(second.saw_any({before}, 0ms));
}

INSTANTIATE_TEST_SUITE_P(All, SharedEventsContract,
                         testing::Values(Implementation{"Kafka", kafka_events},
                                         Implementation{"Postgres", postgres_events}),
                         [](const auto& row) { return std::string(row.param.name); });

// ---- what an implementation reads

TEST(KafkaEventsContract, AnUnknownEnvelopeIsSkipped) {
  Reader reader;
  const KafkaCluster cluster = cluster_at(support::shared_kafka(), new_prefix());
  const auto events = std::make_unique<KafkaEvents>(KafkaEvents::Options{.cluster = cluster});
  events->subscribe(reader.on_hint());
  ASSERT_TRUE(events->start());
  ASSERT_TRUE(wait_until([&] { return is_up(*events); })) << events->health().detail;
  KafkaProducer raw({cluster, 10, {cluster.events_topic()}}, [](const std::string&) {});
  ASSERT_TRUE(raw.open());
  const schemas::JobChange hint = new_hint();
  for (const char* payload : {R"({"v":99,"job":"?"})", "not JSON", "", R"({"v":1})"}) {
    raw.produce({cluster.events_topic(), hint.job.str(), payload, {}},
                [](const base::Status& outcome) { EXPECT_TRUE(outcome); });
  }
  raw.close(10s);
  events->publish(hint);  // the same key, therefore after them
  ASSERT_TRUE(reader.saw_all({hint}));
  EXPECT_EQ(reader.count(), 1U);
}

class PostgresEventsContract : public testing::Test {
 protected:
  std::unique_ptr<PostgresEvents> process(const std::string& url) {
    auto events = std::make_unique<PostgresEvents>(PostgresEvents::Options{.url = url});
    events->subscribe(reader_.on_hint());
    events->on_queued_elsewhere([this](schemas::Kind kind) {
      if (kind == schemas::Kind::kOcr) ++queued_;
    });
    EXPECT_TRUE(events->start());
    EXPECT_TRUE(wait_until([&] { return is_up(*events); })) << events->health().detail;
    return events;
  }

  const std::string url_ = storage::testing::schema_url(new_prefix());
  Reader reader_;
  std::atomic<int> queued_{0};
};

TEST_F(PostgresEventsContract, AnUnknownEnvelopeIsSkipped) {
  const auto events = process(url_);
  storage::PostgresNotices raw(url_);
  raw.connect();
  raw.send("{\"v\":99,\"job\":\"?\"}\nnot JSON\n\n{\"v\":1}");
  while (raw.is_sending()) raw.receive(100ms);
  const schemas::JobChange hint = new_hint();
  events->publish(hint);
  ASSERT_TRUE(reader_.saw_all({hint}));
  EXPECT_EQ(reader_.count(), 1U);
}

TEST_F(PostgresEventsContract, OnlyJobsThatAnotherProcessQueuesAreAnnouncedToWorkers) {
  const auto own = process(url_);
  own->publish_queued(schemas::Kind::kOcr);
  const schemas::JobChange hint = new_hint();
  own->publish(hint);
  ASSERT_TRUE(reader_.saw_all({hint}));
  EXPECT_EQ(queued_, 0);
  PostgresEvents other({.url = url_});
  ASSERT_TRUE(other.start());
  other.publish_queued(schemas::Kind::kStt);
  other.publish_queued(schemas::Kind::kOcr);
  EXPECT_TRUE(wait_until([&] { return queued_ == 1; }));
}

TEST_F(PostgresEventsContract, ASchemaReceivesOnlyItsOwnHints) {
  const auto here = process(url_);
  PostgresEvents elsewhere({.url = storage::testing::schema_url(new_prefix())});
  ASSERT_TRUE(elsewhere.start());
  const schemas::JobChange theirs = new_hint();
  elsewhere.publish(theirs);
  elsewhere.stop(5s);  // it is sent
  const schemas::JobChange ours = new_hint();
  here->publish(ours);
  ASSERT_TRUE(reader_.saw_all({ours}));
  EXPECT_FALSE(reader_.saw_any({theirs}, 0ms));
}

TEST_F(PostgresEventsContract, ALostConnectionCostsLatencyOnly) {
  const auto events = process(url_);
  storage::PostgresDb(url_).script(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN millrace_' || (SELECT "
      "oid "
      "FROM pg_namespace WHERE nspname = current_schema())");
  std::vector<schemas::JobChange> hints;
  EXPECT_TRUE(wait_until([&] {
    hints.push_back(new_hint());
    events->publish(hints.back());
    return reader_.saw_any(hints, 200ms);
  }));
  EXPECT_TRUE(wait_until([&] { return is_up(*events); })) << events->health().detail;
}

TEST(PostgresEventsStart, SucceedsWhileTheServerIsDown) {
  PostgresEvents events({.url = "postgresql://millrace@127.0.0.1:1/millrace"});
  EXPECT_TRUE(events.start());
  EXPECT_TRUE(wait_until([&] { return events.health().detail.find("refused") != std::string::npos; }));
  EXPECT_EQ(events.health().health, Health::kDegraded);
  events.publish(new_hint());
  events.stop(0s);
}

// ---- outages; each test has its own broker

class KafkaEventsOutage : public KafkaOutage<KafkaEvents> {
 protected:
  ~KafkaEventsOutage() override { bus_.reset(); }

  void run(const std::string& address) {
    make_bus(address);
    bus_->subscribe(reader_.on_hint());
    ASSERT_TRUE(bus_->start());
  }
  bool works() override {
    return works_by<schemas::JobChange>(
        [this] {
          schemas::JobChange hint = new_hint();
          bus_->publish(hint);
          return hint;
        },
        [this](const std::vector<schemas::JobChange>& hints) { return reader_.saw_any(hints, 200ms); });
  }

  Reader reader_;
};

TEST_F(KafkaEventsOutage, StartSucceedsWithTheBrokerDownAndRecoversWhenItComes) {
  const std::string address = broker_.start();
  broker_.kill();
  run(address);
  bus_->publish(new_hint());
  const HealthReport report = bus_->health();
  EXPECT_EQ(report.health, Health::kDegraded);
  EXPECT_NE(report.detail.find(address), std::string::npos) << report.detail;
  broker_.start();
  works_again();
}

TEST_F(KafkaEventsOutage, ABrokerKilledAndRestartedCostsLatencyOnly) {
  run(broker_.start());
  ASSERT_TRUE(comes_up());
  ASSERT_TRUE(works());
  broker_.kill();
  EXPECT_TRUE(goes_down());
  broker_.start();
  works_again();
}

TEST_F(KafkaEventsOutage, ABrokerWhoseDataIsWipedCostsLatencyOnly) {
  run(broker_.start());
  works_well();
  broker_.kill();
  broker_.wipe();
  broker_.start();
  works_again();
}

TEST_F(KafkaEventsOutage, ADeletedTopicIsMadeAgain) {
  const std::string address = broker_.start();
  run(address);
  works_well();
  delete_kafka_topic(address, "millrace.events");
  works_again();
}

}  // namespace
}  // namespace millrace::bus
