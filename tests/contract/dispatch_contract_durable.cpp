// Contract of a durable bus::Dispatch: several processes, restarts and the permitted effects of a broker
// outage. Kafka is a real broker.
#include "bus/kafka/kafka_producer.h"
#include "bus/kafka/kafka_settings.h"
#include "tests/contract/dispatch_contract.h"
#include "tests/contract/kafka_admin.h"

namespace millrace::bus {
namespace {

using namespace std::chrono_literals;
using support::wait_until;

class DurableDispatchContract : public testing::TestWithParam<DispatchMaker> {
 protected:
  // A process with this worker. `taker` outlives it.
  std::unique_ptr<Dispatch> process(const std::string& worker, Taker& taker, std::size_t capacity) {
    auto dispatch = GetParam().make(prefix_);
    dispatch->subscribe(kKind, worker, taker.hand_over());
    dispatch->set_capacity(kKind, capacity);
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

  // Publishes tokens to every partition and expects that all are received.
  void publish_to_all(Dispatch& dispatch, Taker& taker) {
    std::vector<Token> tokens;
    for (int i = 0; i < 32; ++i) tokens.push_back(new_token());
    for (const Token& token : tokens) publish(dispatch, token);
    for (const Token& token : tokens) ASSERT_TRUE(taker.got(token, 30s));
  }
  bool share(Dispatch& dispatch, Taker& left, Taker& right) {
    const auto both_claimed = [&] {
      publish(dispatch, new_token());
      return left.count() > 0 && right.count() > 0;
    };
    return wait_until(both_claimed, 30s);
  }

  const std::string prefix_ = new_prefix();
};

TEST_P(DurableDispatchContract, AnUnacknowledgedTokenIsRedeliveredAfterARestart) {
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

TEST_P(DurableDispatchContract, AnAcknowledgedTokenIsNotRedelivered) {
  const Token decided = new_token();
  Taker before;
  auto first = process("worker-1", before, 10);
  publish(*first, decided);
  ASSERT_TRUE(before.got(decided));
  before.decide(decided);
  first->stop(10s);

  Taker after;
  auto second = process("worker-1", after, 100);
  publish_to_all(*second, after);
  EXPECT_FALSE(after.jobs().contains(decided.job.str()));
}

TEST_P(DurableDispatchContract, TokensWithoutCapacityWaitForIt) {
  Taker taker;
  auto dispatch = process("worker-1", taker, 0);
  std::set<std::string> published;
  for (int i = 0; i < 300; ++i) {  // more than a process buffers: the partitions are paused as well
    const Token token = new_token();
    published.insert(token.job.str());
    dispatch->publish(token, [](const base::Status&) {});
  }
  publish(*dispatch, new_token());
  EXPECT_EQ(taker.count(), 0U);
  dispatch->set_capacity(kKind, 1);
  ASSERT_TRUE(taker.got(1, 30s));
  dispatch->set_capacity(kKind, 1000);
  ASSERT_TRUE(taker.got(301, 30s));
  dispatch->stop(10s);
  EXPECT_TRUE(std::ranges::includes(taker.jobs(), published));
}

TEST_P(DurableDispatchContract, TwoWorkersOfOneKindShare) {
  Taker left, right;
  auto first = process("worker-1", left, 10'000);
  auto second = process("worker-2", right, 10'000);
  EXPECT_TRUE(share(*first, left, right));
}

TEST_P(DurableDispatchContract, AWorkerThatLeavesGivesItsPartitionsToTheOthers) {
  Taker left, right;
  auto first = process("worker-1", left, 10'000);
  auto second = process("worker-2", right, 10'000);
  ASSERT_TRUE(share(*first, left, right));
  first->leave(kKind);
  const auto partitions = static_cast<std::size_t>(cluster_at(support::shared_kafka(), prefix_).partitions);
  const auto one_has_all = [&] {
    return first->lags(kKind).empty() && second->lags(kKind).size() == partitions;
  };
  ASSERT_TRUE(wait_until(one_has_all, 30s));
  const std::size_t taken = left.count();
  publish_to_all(*first, right);
  EXPECT_EQ(left.count(), taken);
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
  publish(*dispatch, token);  // the same key, therefore after them
  ASSERT_TRUE(taker.got(token));
  EXPECT_EQ(taker.count(), 1U);
}

// Imitates a defect of librdkafka: when a topic is deleted while in use, one reference is never released.
TEST_P(DurableDispatchContract, AClientThatDoesNotEndIsLeftBehind) {
  Taker taker;
  auto dispatch = process("worker-1", taker, 10);
  publish(*dispatch, new_token());
  const KafkaCluster cluster = cluster_at(support::shared_kafka(), prefix_);
  const std::string topic = cluster.jobs_topic(kKind);
  auto client = KafkaClient::make(RD_KAFKA_CONSUMER, group_consumer_settings(cluster, {"lost", "worker-9"}),
                                  {topic}, {});
  ASSERT_TRUE(client);
  rd_kafka_poll_set_consumer((*client)->get());
  const RdPartitions all(rd_kafka_topic_partition_list_new(cluster.partitions));
  rd_kafka_topic_partition_list_add_range(all.get(), topic.c_str(), 0, cluster.partitions - 1);
  ASSERT_EQ(rd_kafka_assign((*client)->get(), all.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
  const RdMessage kept(rd_kafka_consumer_poll((*client)->get(), 10'000));
  ASSERT_TRUE(kept);
  client->reset();
}

INSTANTIATE_TEST_SUITE_P(All, DurableDispatchContract,
                         testing::Values(DispatchMaker{"Kafka", kafka_dispatch}),
                         [](const auto& row) { return std::string(row.param.name); });

// ---- outages; each test has its own broker

class KafkaDispatchOutage : public KafkaOutage<KafkaDispatch> {
 protected:
  ~KafkaDispatchOutage() override { bus_.reset(); }

  void run(const std::string& address) {
    make_bus(address);
    bus_->subscribe(kKind, "worker-1", taker_.hand_over());
    bus_->set_capacity(kKind, 100'000);
    ASSERT_TRUE(bus_->start());
  }
  bool works() override {
    return works_by<Token>(
        [this] {
          Deliveries deliveries;
          Token token = new_token();
          bus_->publish(token, deliveries.done());
          EXPECT_TRUE(deliveries.ended(1, kOutage)) << "the callback was not called";
          return token;
        },
        [this](const std::vector<Token>& tokens) { return taker_.got_any(tokens, 200ms); });
  }

  Taker taker_;
};

TEST_F(KafkaDispatchOutage, StartSucceedsWithTheBrokerDownAndRecoversWhenItComes) {
  const std::string address = broker_.start();
  broker_.kill();
  run(address);
  Deliveries deliveries;
  bus_->publish(new_token(), deliveries.done());
  ASSERT_TRUE(deliveries.ended(1, kOutage));
  EXPECT_EQ(deliveries.failed(), 1U);
  const HealthReport report = bus_->health();
  EXPECT_EQ(report.health, Health::kDegraded);
  EXPECT_NE(report.detail.find(address), std::string::npos) << report.detail;
  broker_.start();
  works_again();
}

TEST_F(KafkaDispatchOutage, ABrokerKilledAndRestartedCostsLatencyOnly) {
  run(broker_.start());
  ASSERT_TRUE(comes_up());
  ASSERT_TRUE(works());
  broker_.kill();
  EXPECT_TRUE(goes_down());
  Deliveries deliveries;
  bus_->publish(new_token(), deliveries.done());
  EXPECT_TRUE(deliveries.ended(1, kOutage));
  broker_.start();
  works_again();
}

TEST_F(KafkaDispatchOutage, ABrokerWhoseDataIsWipedCostsLatencyOnly) {
  run(broker_.start());
  works_well();
  taker_.decide_all();
  broker_.kill();
  broker_.wipe();
  broker_.start();
  works_again();
}

TEST_F(KafkaDispatchOutage, ADeletedTopicIsMadeAgain) {
  const std::string address = broker_.start();
  run(address);
  works_well();
  taker_.decide_all();
  delete_kafka_topic(address, "millrace.jobs.ocr");
  works_again();
}

}  // namespace
}  // namespace millrace::bus
