#include "ai/inference/routing/targets.h"

#include <future>

#include <gtest/gtest.h>

#include "tests/unit/inference/rows.h"

namespace millrace::inference {
namespace {

using testing::row;

TEST(Targets, AStateThatIsForgottenGoesOnItsLoopAndNotWhereItIsForgotten) {
  net::Loop loop("test");
  Targets targets(loop);
  const std::weak_ptr<TargetState> first = targets.of(row("mock/0"));
  for (std::size_t i = 1; i < Targets::kTargetsMax; ++i) targets.of(row("mock/" + std::to_string(i)));
  std::promise<void> busy, go_on, later;
  loop.post([&] {
    busy.set_value();
    go_on.get_future().wait();
  });
  busy.get_future().wait();
  targets.of(row("mock/more"));
  EXPECT_FALSE(first.expired());
  go_on.set_value();
  loop.post([&] { later.set_value(); });
  later.get_future().wait();
  EXPECT_TRUE(first.expired());
}

TEST(Targets, AStateThatIsHeldIsKnownAgain) {
  net::Loop loop("test");
  Targets targets(loop);
  const TargetStatePtr held = targets.of(row("mock/held"));
  for (std::size_t i = 0; i < Targets::kTargetsMax; ++i) targets.of(row("mock/" + std::to_string(i)));
  EXPECT_EQ(held, targets.of(row("mock/held")));
}

}  // namespace
}  // namespace millrace::inference
