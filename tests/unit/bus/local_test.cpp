#include "bus/local.h"

#include <gtest/gtest.h>

namespace millrace::bus {
namespace {

constexpr schemas::Kind kKind = schemas::Kind::kOcr;

Token token() { return {{kKind, base::Uuid{}}, 1, "acme", ""}; }

TEST(LocalDispatch, ATokenWithoutCapacityIsCountedAndLeftToTheStore) {
  LocalDispatch dispatch;
  int taken = 0;
  int delivered = 0;
  dispatch.subscribe(kKind, "worker-1", [&](const Token&, const std::function<void()>&) { ++taken; });
  ASSERT_TRUE(dispatch.start());
  dispatch.set_capacity(kKind, 1);
  for (int i = 0; i < 3; ++i) {
    dispatch.publish(token(), [&](const base::Status& outcome) { delivered += outcome ? 1 : 0; });
  }
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(delivered, 3);
  EXPECT_NE(dispatch.health().detail.find("2 tokens"), std::string::npos) << dispatch.health().detail;
  dispatch.set_capacity(kKind, 5);
  EXPECT_EQ(taken, 1) << "a token above the capacity is dropped, not queued";
}

TEST(LocalDispatch, NothingOutlivesTheProcess) { EXPECT_FALSE(LocalDispatch().durable()); }

TEST(LocalDispatch, ATokenIsHandedOverOnThePublishersThreadBeforeItIsDelivered) {
  LocalDispatch dispatch;
  std::vector<std::string> order;
  const auto publisher = std::this_thread::get_id();
  dispatch.subscribe(kKind, "worker-1", [&](const Token&, const std::function<void()>&) {
    EXPECT_EQ(std::this_thread::get_id(), publisher);
    order.emplace_back("token");
  });
  dispatch.set_capacity(kKind, 1);
  ASSERT_TRUE(dispatch.start());
  dispatch.publish(token(), [&](const base::Status&) { order.emplace_back("done"); });
  EXPECT_EQ(order, (std::vector<std::string>{"token", "done"}));
}

}  // namespace
}  // namespace millrace::bus
