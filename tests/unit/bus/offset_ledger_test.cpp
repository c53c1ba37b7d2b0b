#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "bus/kafka/kafka_offsets.h"

namespace millrace::bus {
namespace {

using Next = std::optional<std::int64_t>;

TEST(OffsetLedger, ADecisionInOrderMovesTheOffsetPastTheMessage) {
  OffsetLedger ledger;
  const auto first = ledger.began(10);
  const auto second = ledger.began(11);
  EXPECT_EQ(ledger.acknowledged(first), Next(11));
  EXPECT_EQ(ledger.acknowledged(second), Next(12));
  EXPECT_EQ(ledger.open(), 0U);
}

TEST(OffsetLedger, TheOffsetNeverPassesAnUndecidedMessage) {
  OffsetLedger ledger;
  const auto first = ledger.began(10);
  const auto second = ledger.began(11);
  const auto third = ledger.began(12);
  EXPECT_EQ(ledger.acknowledged(third), Next());
  EXPECT_EQ(ledger.acknowledged(second), Next());
  EXPECT_EQ(ledger.acknowledged(first), Next(13));
}

TEST(OffsetLedger, TheLagIsFromTheOldestUndecidedMessageToTheNewest) {
  OffsetLedger ledger;
  EXPECT_EQ(ledger.lag(100), 0) << "nothing was consumed";
  const auto first = ledger.began(10);
  const auto second = ledger.began(11);
  EXPECT_EQ(ledger.lag(15), 5);
  EXPECT_EQ(ledger.lag(-1001), 2) << "the newest offset is unknown";
  static_cast<void>(ledger.acknowledged(second));
  EXPECT_EQ(ledger.lag(15), 5);
  static_cast<void>(ledger.acknowledged(first));
  EXPECT_EQ(ledger.lag(15), 3);
  EXPECT_EQ(ledger.lag(12), 0);
}

TEST(OffsetLedger, GapsInTheOffsetsAreNormal) {
  OffsetLedger ledger;
  const auto first = ledger.began(10);
  const auto second = ledger.began(40);
  EXPECT_EQ(ledger.acknowledged(second), Next());
  EXPECT_EQ(ledger.acknowledged(first), Next(41));
}

TEST(OffsetLedger, ASecondDecisionChangesNothing) {
  OffsetLedger ledger;
  const auto first = ledger.began(10);
  ledger.began(11);
  EXPECT_EQ(ledger.acknowledged(first), Next(11));
  EXPECT_EQ(ledger.acknowledged(first), Next());
  EXPECT_EQ(ledger.open(), 1U);
}

TEST(OffsetLedger, ATicketThatWasNeverGivenChangesNothing) {
  OffsetLedger ledger;
  EXPECT_EQ(ledger.acknowledged(0), Next());
  ledger.began(10);
  EXPECT_EQ(ledger.acknowledged(7), Next());
  EXPECT_EQ(ledger.open(), 1U);
}

TEST(OffsetLedger, DecreasingOffsetsMeanARecreatedTopicAndResetTheLedger) {
  OffsetLedger ledger;
  const auto old = ledger.began(50);
  const auto fresh = ledger.began(0);
  EXPECT_EQ(ledger.acknowledged(old), Next());
  EXPECT_EQ(ledger.open(), 1U);
  EXPECT_EQ(ledger.acknowledged(fresh), Next(1));
}

TEST(OffsetLedger, InAnyOrderOfDecisionsTheOffsetIsThatOfTheOldestUndecidedMessage) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    OffsetLedger ledger;
    std::vector<OffsetLedger::Ticket> tickets;
    for (std::int64_t offset = 0; offset < 20; ++offset) tickets.push_back(ledger.began(offset));
    std::vector<std::size_t> order(tickets.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::shuffle(order, random);
    std::vector<bool> acknowledged(tickets.size(), false);
    std::int64_t stored = 0;
    for (const std::size_t index : order) {
      acknowledged[index] = true;
      if (const Next next = ledger.acknowledged(tickets[index])) stored = *next;
      EXPECT_EQ(stored, std::ranges::find(acknowledged, false) - acknowledged.begin());
    }
  }
}

}  // namespace
}  // namespace millrace::bus
