#include "bus/kafka/kafka_client.h"

#include <gtest/gtest.h>

#include "bus/kafka/kafka_dispatch.h"
#include "bus/kafka/kafka_settings.h"

namespace millrace::bus {
namespace {

std::string value_of(const KafkaSettings& settings, std::string_view key) {
  for (const auto& [name, value] : settings) {
    if (name == key) return value;
  }
  return {};
}

KafkaCluster cluster() {
  KafkaCluster cluster;
  cluster.brokers = {"127.0.0.1:1", "127.0.0.1:2"};
  return cluster;
}

TEST(KafkaSettings, TheProducerIsIdempotentWaitsForAllReplicasAndDoesNotLinger) {
  const auto settings = producer_settings(cluster(), 77);
  EXPECT_EQ(value_of(settings, "enable.idempotence"), "true");
  EXPECT_EQ(value_of(settings, "acks"), "all");
  EXPECT_EQ(value_of(settings, "linger.ms"), "0");
  EXPECT_EQ(value_of(settings, "queue.buffering.max.messages"), "77");
  EXPECT_EQ(value_of(settings, "bootstrap.servers"), "127.0.0.1:1,127.0.0.1:2");
}

TEST(KafkaSettings, AGroupConsumerStoresOffsetsItselfAndIsAStaticMember) {
  const auto settings = group_consumer_settings(cluster(), {"millrace.ocr", "host-1"});
  EXPECT_EQ(value_of(settings, "enable.auto.offset.store"), "false");
  EXPECT_EQ(value_of(settings, "group.instance.id"), "host-1");
  EXPECT_EQ(value_of(settings, "group.id"), "millrace.ocr");
  EXPECT_EQ(value_of(settings, "partition.assignment.strategy").find("cooperative"), std::string::npos);
}

TEST(KafkaSettings, ALoneConsumerHasNoGroup) {
  const auto settings = lone_consumer_settings(cluster());
  EXPECT_EQ(value_of(settings, "group.id"), "");
  EXPECT_EQ(value_of(settings, "enable.auto.commit"), "false");
}

TEST(KafkaClient, ASettingThatIsRefusedIsNamed) {
  const auto made = KafkaClient::make(RD_KAFKA_PRODUCER, {{"linger.ms", "soon"}}, {}, {});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("linger.ms"), std::string::npos) << made.error().message;
}

TEST(KafkaClient, AFullQueueIsOverloadedAndAnExpiredMessageIsATimeout) {
  EXPECT_EQ(kafka_error(RD_KAFKA_RESP_ERR__QUEUE_FULL, "x").code, base::Code::kOverloaded);
  EXPECT_EQ(kafka_error(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, "x").code, base::Code::kUpstreamTimeout);
  EXPECT_EQ(kafka_error(RD_KAFKA_RESP_ERR__TRANSPORT, "x").code, base::Code::kUpstream);
}

TEST(KafkaDispatch, APublishAboveTheQueuesBoundIsRefusedAtOnce) {
  KafkaDispatch::Options options{.cluster = cluster(), .queue_max = 2};
  options.cluster.request_timeout = std::chrono::milliseconds(100);
  KafkaDispatch dispatch(options);
  ASSERT_TRUE(dispatch.start());
  std::vector<base::Code> refused;
  for (int i = 0; i < 5; ++i) {
    dispatch.publish({{schemas::Kind::kOcr, base::Uuid{}}, i, "acme", ""}, [&](const base::Status& outcome) {
      refused.push_back(outcome ? base::Code::kInternal : outcome.error().code);
    });
  }
  ASSERT_EQ(refused.size(), 3U);
  EXPECT_EQ(refused.front(), base::Code::kOverloaded);
  dispatch.stop(std::chrono::milliseconds(0));
  EXPECT_EQ(refused.size(), 5U) << "after the stop, the callback of every publish has run";
}

TEST(KafkaDispatch, StopEndsWithinItsDeadlineWithoutABroker) {
  KafkaDispatch::Options options{.cluster = cluster()};
  options.cluster.request_timeout = std::chrono::milliseconds(100);
  KafkaDispatch dispatch(options);
  dispatch.subscribe(schemas::Kind::kOcr, "worker-1", [](const Token&, const std::function<void()>&) {});
  ASSERT_TRUE(dispatch.start());
  EXPECT_EQ(dispatch.health().health, Health::kDegraded);
  const auto begin = std::chrono::steady_clock::now();
  dispatch.stop(std::chrono::milliseconds(500));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace millrace::bus
