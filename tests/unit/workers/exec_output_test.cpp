#include "workers/exec/exec_output.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/workers/exec_fixture.h"

namespace millrace::workers {
namespace {

using schemas::OutputStream;
using Events = std::vector<storage::JobOutcomes::Event>;

// Long enough to check that nothing happens.
constexpr std::chrono::milliseconds kStillness{100};

std::string bytes_in(const storage::JobOutcomes::Event& event) {
  return schemas::output_bytes(event.data).value_or("not output");
}

Events take_all(ExecOutput& output) {
  Events all;
  for (Events some = output.take(); !some.empty(); some = output.take()) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::string joined(const Events& events, std::string_view type) {
  std::string all;
  for (const auto& event : events) {
    if (event.type == type) all += bytes_in(event);
  }
  return all;
}

TEST(ExecOutput, EventsKeepTheOrderOfBothStreams) {
  ExecOutput output({}, [] {});
  output.add(kOut, "one ");
  output.add(kOut, "two");
  output.add(kErr, "three");
  output.add(kOut, "four");
  const Events events = output.take();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].type, "stdout");
  EXPECT_EQ(bytes_in(events[0]), "one two");
  EXPECT_EQ(events[1].type, "stderr");
  EXPECT_EQ(bytes_in(events[1]), "three");
  EXPECT_EQ(bytes_in(events[2]), "four");
  EXPECT_TRUE(output.take().empty());
}

TEST(ExecOutput, WakesOnceUntilItIsTaken) {
  int wakes = 0;
  ExecOutput output({}, [&] { ++wakes; });
  output.add(kOut, "a");
  output.add(kErr, "b");
  EXPECT_EQ(wakes, 1);
  output.take();
  output.add(kOut, "c");
  EXPECT_EQ(wakes, 2);
}

TEST(ExecOutput, TheFirstBytesOfEachStreamAreKeptAndTheRestIsCounted) {
  ExecOutput output({.kept_max = 10}, [] {});
  output.add(kOut, "0123456");
  output.add(kOut, "789abc");
  output.add(kErr, "0123456789");
  output.close();
  const Events events = take_all(output);
  EXPECT_EQ(joined(events, "stdout"), "0123456789");
  EXPECT_EQ(joined(events, "stderr"), "0123456789");
  const auto sizes = output.sizes();
  EXPECT_EQ(sizes.stdout_bytes, 13);
  EXPECT_TRUE(sizes.stdout_truncated);
  EXPECT_EQ(sizes.stderr_bytes, 10);
  EXPECT_FALSE(sizes.stderr_truncated);
  EXPECT_FALSE(sizes.exit_code || sizes.signal);
}

TEST(ExecOutput, ACharacterIsNeverSplitBetweenEvents) {
  std::string text;
  while (text.size() < 5 * ExecOutput::kChunkMax) text += "a€";
  ExecOutput output({}, [] {});
  output.add(kOut, text);
  output.close();
  const Events events = take_all(output);
  EXPECT_GE(events.size(), 5U);
  for (const auto& event : events) {
    EXPECT_EQ(event.data.find("base64"), std::string::npos);
    EXPECT_LE(bytes_in(event).size(), ExecOutput::kChunkMax);
  }
  EXPECT_EQ(joined(events, "stdout"), text);
}

TEST(ExecOutput, ACharacterThatArrivesInPiecesWaitsForItsEnd) {
  ExecOutput output({}, [] {});
  output.add(kOut, "x\xE2");
  EXPECT_EQ(joined(output.take(), "stdout"), "x");
  output.add(kOut, "\x82");
  EXPECT_TRUE(output.take().empty());
  output.add(kErr, "between");
  output.add(kOut, "\xAC");
  const Events events = output.take();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(bytes_in(events[1]), "€");
  EXPECT_EQ(events[1].data.find("base64"), std::string::npos);
}

TEST(ExecOutput, ABrokenCharacterAtTheEndGoesAsItIs) {
  ExecOutput output({}, [] {});
  output.add(kOut, "x\xE2\x82");
  output.close();
  const Events events = take_all(output);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(bytes_in(events[0]), "x");
  EXPECT_EQ(bytes_in(events[1]), "\xE2\x82");
}

TEST(ExecOutput, TheCapLeavesNoHalfCharacter) {
  ExecOutput output({.kept_max = 4}, [] {});
  output.add(kOut, "ab€");
  output.close();
  const Events events = take_all(output);
  EXPECT_EQ(joined(events, "stdout"), "ab");
  EXPECT_EQ(output.sizes().stdout_bytes, 5);
  EXPECT_TRUE(output.sizes().stdout_truncated);
}

TEST(ExecOutput, BinaryBytesSurvive) {
  std::string binary;
  for (int i = 0; i < 100'000; ++i) binary += static_cast<char>(i * 7919 >> 3);
  ExecOutput output({}, [] {});
  for (std::size_t at = 0; at < binary.size(); at += 777) output.add(kErr, binary.substr(at, 777));
  output.close();
  EXPECT_EQ(joined(take_all(output), "stderr"), binary);
}

TEST(ExecOutput, AlternatingSingleBytesDoNotMakeAnEventEach) {
  ExecOutput output({}, [] {});
  for (int i = 0; i < 5'000; ++i) {
    output.add(kOut, "o");
    output.add(kErr, "e");
  }
  output.close();
  const Events events = take_all(output);
  EXPECT_LT(events.size(), 100U);
  EXPECT_EQ(joined(events, "stdout"), std::string(5'000, 'o'));
  EXPECT_EQ(joined(events, "stderr"), std::string(5'000, 'e'));
}

// A pump that writes three times. The third write waits because the limit is exceeded.
class Pump {
 public:
  explicit Pump(ExecOutput& output)
      : thread_([this, &output] {
          output.add(kOut, "12345");
          output.add(kOut, "67890");
          output.add(kOut, "abc");
          through_ = true;
        }) {}
  bool through() {
    return support::wait_until([this] { return through_.load(); });
  }
  bool waits() {
    return !support::wait_until([this] { return through_.load(); }, kStillness);
  }

 private:
  std::atomic<bool> through_{false};
  std::jthread thread_;
};

TEST(ExecOutput, WritingBlocksWhileTheBufferIsFull) {
  ExecOutput output({.waiting_max = 8}, [] {});
  Pump pump(output);
  EXPECT_TRUE(pump.waits());
  EXPECT_EQ(joined(output.take(), "stdout"), "1234567890");
  EXPECT_TRUE(pump.through());
  EXPECT_EQ(joined(output.take(), "stdout"), "abc");
}

TEST(ExecOutput, AStopEndsThePumpsWaitAndKeepsWhatItWrote) {
  ExecOutput output({.waiting_max = 8}, [] {});
  Pump pump(output);
  EXPECT_TRUE(pump.waits());
  output.stop_blocking();
  EXPECT_TRUE(pump.through());
  EXPECT_EQ(joined(output.take(), "stdout"), "1234567890abc");
}

TEST(ExecOutput, AKillEndsThePumpsWaitAndDropsWhatItWrote) {
  ExecOutput output({.waiting_max = 8}, [] {});
  Pump pump(output);
  EXPECT_TRUE(pump.waits());
  output.discard();
  EXPECT_TRUE(pump.through());
  EXPECT_TRUE(output.take().empty());
}

TEST(ExecOutput, APumpWaitsNoLongerThanItsTimeLimit) {
  ExecOutput output({.waiting_max = 8, .block_until = std::chrono::steady_clock::now() + kStillness}, [] {});
  Pump pump(output);
  EXPECT_TRUE(pump.through());
}

TEST(ExecOutput, BytesPastTheCapAreNeverWaitedFor) {
  ExecOutput output({.kept_max = 10, .waiting_max = 8}, [] {});
  Pump pump(output);
  EXPECT_TRUE(pump.through());
  EXPECT_EQ(output.sizes().stdout_bytes, 13);
}

}  // namespace
}  // namespace millrace::workers
