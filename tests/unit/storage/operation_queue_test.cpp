#include "storage/writer/operation_queue.h"

#include <gtest/gtest.h>

namespace millrace::storage {
namespace {

using Priority = Writer::Priority;
using Push = OperationQueue::Push;

constexpr OperationQueue::Bounds kGroup{256, 1u << 20};

Push push(OperationQueue& queue, Priority priority, std::size_t payload_bytes = 0) {
  QueuedOperation operation{priority, payload_bytes, nullptr, nullptr};
  return queue.push(operation);
}

std::vector<QueuedOperation> group_of(OperationQueue& queue, OperationQueue::Bounds bounds = kGroup) {
  std::vector<QueuedOperation> group;
  queue.take(group, bounds);
  return group;
}

TEST(OperationQueueTest, UrgentOperationsGoBeforeThoseThatCameEarlier) {
  OperationQueue queue(10);
  push(queue, Priority::kNormal);
  push(queue, Priority::kUrgent);
  const auto group = group_of(queue);
  ASSERT_EQ(group.size(), 2u);
  EXPECT_EQ(group[0].priority, Priority::kUrgent);
}

TEST(OperationQueueTest, AGroupEndsAtItsNumberOfOperations) {
  OperationQueue queue(1'000);
  for (int i = 0; i < 300; ++i) push(queue, Priority::kNormal);
  EXPECT_EQ(group_of(queue).size(), 256u);
  EXPECT_EQ(group_of(queue).size(), 44u);
}

TEST(OperationQueueTest, ItsDepthCountsWhatWasNotTakenYet) {
  OperationQueue queue(10);
  push(queue, Priority::kNormal);
  push(queue, Priority::kUrgent);
  EXPECT_EQ(queue.depth(), 2u);
  group_of(queue);
  EXPECT_EQ(queue.depth(), 0u);
}

TEST(OperationQueueTest, AGroupEndsAtItsPayload) {
  OperationQueue queue(10);
  for (int i = 0; i < 3; ++i) push(queue, Priority::kNormal, 500'000);
  EXPECT_EQ(group_of(queue).size(), 2u);
  EXPECT_EQ(group_of(queue).size(), 1u);
}

TEST(OperationQueueTest, AnOperationLargerThanAGroupGoesAlone) {
  OperationQueue queue(10);
  push(queue, Priority::kNormal, 5u << 20);
  push(queue, Priority::kNormal, 1);
  EXPECT_EQ(group_of(queue).size(), 1u);
}

TEST(OperationQueueTest, OperationsWithoutCompletionCountAgainstTheLimit) {
  OperationQueue queue(2);
  EXPECT_EQ(push(queue, Priority::kNormal), Push::kQueued);
  EXPECT_EQ(push(queue, Priority::kNormal), Push::kQueued);
  group_of(queue);
  EXPECT_EQ(push(queue, Priority::kNormal), Push::kFull);
  queue.finished(2);
  EXPECT_EQ(push(queue, Priority::kNormal), Push::kQueued);
}

TEST(OperationQueueTest, UrgentOperationsMayExceedTheLimitByAnEighth) {
  OperationQueue queue(8);
  for (int i = 0; i < 8; ++i) push(queue, Priority::kNormal);
  EXPECT_EQ(push(queue, Priority::kNormal), Push::kFull);
  EXPECT_EQ(push(queue, Priority::kUrgent), Push::kQueued);
  EXPECT_EQ(push(queue, Priority::kUrgent), Push::kFull);
}

TEST(OperationQueueTest, OnlyWhatIsNotUrgentIsWithdrawn) {
  OperationQueue queue(8);
  push(queue, Priority::kNormal);
  push(queue, Priority::kInteractive);
  push(queue, Priority::kUrgent);
  EXPECT_EQ(queue.withdraw_not_urgent().size(), 2u);
  const auto left = group_of(queue);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].priority, Priority::kUrgent);
}

TEST(OperationQueueTest, WhatACallerWaitsForGoesWithTheUrgentOnes) {
  OperationQueue queue(8);
  push(queue, Priority::kNormal);
  push(queue, Priority::kInteractive);
  EXPECT_EQ(group_of(queue).front().priority, Priority::kInteractive);
}

TEST(OperationQueueTest, AClosedQueueIsEmptiedAndTakesNothing) {
  OperationQueue queue(8);
  push(queue, Priority::kNormal);
  queue.close();
  EXPECT_EQ(push(queue, Priority::kUrgent), Push::kClosed);
  EXPECT_TRUE(queue.wait());
  group_of(queue);
  EXPECT_FALSE(queue.wait());
}

}  // namespace
}  // namespace millrace::storage
