// Contract of bus::Dispatch for all implementations. Kafka is a real broker.
#include "tests/contract/dispatch_contract.h"

#include "bus/local.h"

namespace millrace::bus {
namespace {

using namespace std::chrono_literals;
using support::wait_until;

class DispatchContract : public testing::TestWithParam<DispatchMaker> {
 protected:
  void subscribe_and_start(std::size_t capacity) {
    dispatch_->subscribe(kKind, "worker-1", taker_.hand_over());
    dispatch_->set_capacity(kKind, capacity);
    ASSERT_TRUE(dispatch_->start());
    ASSERT_TRUE(wait_until([&] { return is_up(*dispatch_); })) << dispatch_->health().detail;
  }

  Taker taker_;
  Deliveries deliveries_;
  std::unique_ptr<Dispatch> dispatch_ = GetParam().make(new_prefix());
};

TEST_P(DispatchContract, EveryTokenReachesTheSubscriberWhileThereIsCapacity) {
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

TEST_P(DispatchContract, NoMoreTokensAreDeliveredThanThereIsCapacity) {
  subscribe_and_start(2);
  for (int i = 0; i < 10; ++i) dispatch_->publish(new_token(), deliveries_.done());
  ASSERT_TRUE(deliveries_.ended(10));
  ASSERT_TRUE(taker_.got(2));
  dispatch_->set_capacity(kKind, 0);
  dispatch_->stop(5s);
  EXPECT_EQ(taker_.count(), 2U);
}

TEST_P(DispatchContract, CapacityThatIsAnnouncedLaterLetsTokensThrough) {
  subscribe_and_start(0);
  dispatch_->set_capacity(kKind, 1);
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

TEST_P(DispatchContract, AnAcknowledgementAfterStopDoesNothing) {
  subscribe_and_start(1);
  dispatch_->publish(new_token(), deliveries_.done());
  ASSERT_TRUE(taker_.got(1));
  dispatch_->stop(5s);
  taker_.decide_all();
  dispatch_.reset();
  taker_.decide_all();
}

INSTANTIATE_TEST_SUITE_P(All, DispatchContract,
                         testing::Values(DispatchMaker{"Local",
                                                       [](const std::string&) -> std::unique_ptr<Dispatch> {
                                                         return std::make_unique<LocalDispatch>();
                                                       }},
                                         DispatchMaker{"Kafka", kafka_dispatch}),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace millrace::bus
