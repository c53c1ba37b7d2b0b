#include "api/admission/failed_attempts.h"

#include <gtest/gtest.h>

#include "api/admission/auth.h"
#include "api/admission/keys.h"
#include "tests/support/temp_dir.h"

namespace millrace::api {
namespace {

using base::Code;

class WrongKeys : public ::testing::Test {
 protected:
  WrongKeys() {
    store_ = std::move(*storage::Store::open({.data_dir = dir_.str()}, clock_));
    pepper_ = *pepper(dir_.str());
    right_ = make();
    other_ = make();
    auth_ = std::make_unique<Auth>(*store_, pepper_, FailedAttempts::kPerMinute);
    EXPECT_TRUE(auth_->refresh().has_value());
  }
  ~WrongKeys() override { store_->close(); }

  std::string make() { return create_key(*store_, pepper_, {.name = "test"})->text; }
  // A key with the id of `right_` and another secret.
  std::string wrong() {
    std::string text = schemas::make_key_text();
    return text.replace(8, 8, right_.substr(8, 8));
  }
  // The number of `attempts` whose key was compared, and not refused with 429 before.
  int answered_as_wrong(int attempts, const std::string& address, const std::function<std::string()>& key) {
    int out = 0;
    for (int i = 0; i < attempts; ++i) {
      const Auth::Decision decision = auth_->check(key(), address);
      EXPECT_FALSE(decision.principal);
      if (decision.refusal == Code::kRateLimited) {
        EXPECT_GT(decision.retry_after.count(), 0);
      } else {
        ++out;
      }
    }
    return out;
  }
  bool works(const std::string& key, const std::string& address) {
    return auth_->check(key, address).principal != nullptr;
  }

  support::TempDir dir_;
  base::ManualClock clock_;
  std::unique_ptr<storage::Store> store_;
  std::string pepper_, right_, other_;
  std::unique_ptr<Auth> auth_;
};

TEST_F(WrongKeys, OfThreeThousandOnlyAMinutesWorthIsAnsweredAsWrong) {
  EXPECT_EQ(answered_as_wrong(3'000, "192.0.2.1", [&] { return wrong(); }), FailedAttempts::kPerMinute);
  clock_.advance(std::chrono::seconds(60));
  EXPECT_EQ(answered_as_wrong(3'000, "192.0.2.1", [&] { return wrong(); }), FailedAttempts::kPerMinute);
}

TEST_F(WrongKeys, UnknownIdsAreLimitedByAddressBeforeTheirLookUp) {
  int look_ups = 0;
  for (int second = 0; second < 60; ++second) {
    for (int i = 0; i < 50; ++i) {
      const std::string key = schemas::make_key_text();
      if (!auth_->check(key, "192.0.2.1").needs_lookup) continue;
      ++look_ups;
      EXPECT_FALSE(auth_->look_up(key, "192.0.2.1").principal);
    }
    clock_.advance(std::chrono::seconds(1));
  }
  EXPECT_LE(look_ups, 2 * FailedAttempts::kPerMinute) << "those of a full minute, and a minute's more";
}

TEST_F(WrongKeys, NewKeysOfOtherProcessesWorkHoweverManyThereAreWithinASecond) {
  for (int i = 0; i < 50; ++i) {
    const std::string key = make();
    ASSERT_TRUE(auth_->check(key, "192.0.2.1").needs_lookup) << i;
    ASSERT_TRUE(auth_->look_up(key, "192.0.2.1").principal) << i;
  }
}

TEST_F(WrongKeys, UnknownIdsOfAllAddressesTogetherAreLimitedToo) {
  const auto decision_from = [&](int number) {
    return auth_->check(schemas::make_key_text(), "198.51." + std::to_string(number) + ".1");
  };
  for (int i = 0; i < Auth::kStoreLookupsPerSecond; ++i) EXPECT_TRUE(decision_from(i).needs_lookup) << i;
  EXPECT_EQ(decision_from(0).refusal, Code::kOverloaded);
  clock_.advance(std::chrono::seconds(1));
  EXPECT_TRUE(decision_from(0).needs_lookup);
}

TEST_F(WrongKeys, AKeyThatOneRequestLooksUpTwiceCountsOnce) {
  for (int i = 1; i < FailedAttempts::kPerMinute; ++i) {
    KeyLookUp once;
    const std::string key = i % 2 == 0 ? wrong() : schemas::make_key_text();
    for (int time = 0; time < 2; ++time)
      EXPECT_EQ(once.look_up(*auth_, key, "192.0.2.1").refusal, Code::kKeyInvalid) << i;
  }
  EXPECT_TRUE(auth_->check(schemas::make_key_text(), "192.0.2.1").needs_lookup) << "one is left";
}

TEST_F(WrongKeys, ARightKeyIsNotLockedOutByFailuresElsewhere) {
  ASSERT_EQ(answered_as_wrong(100, "192.0.2.1", [&] { return wrong(); }), FailedAttempts::kPerMinute);
  EXPECT_TRUE(works(right_, "192.0.2.2"));
  EXPECT_TRUE(works(right_, "2001:db8::1"));
}

TEST_F(WrongKeys, ARightKeyIsNotLockedOutByOthersAtItsAddress) {
  ASSERT_EQ(answered_as_wrong(100, "192.0.2.1", [&] { return wrong(); }), FailedAttempts::kPerMinute);
  EXPECT_TRUE(works(other_, "192.0.2.1"));
  EXPECT_TRUE(works(right_, "192.0.2.1"));
}

TEST_F(WrongKeys, AnIpv6NetworkIsOneAddress) {
  int number = 0;
  int all = 0;
  for (int i = 0; i < 100; ++i)
    all += answered_as_wrong(1, "2001:db8::" + std::to_string(++number), [&] { return wrong(); });
  EXPECT_EQ(all, FailedAttempts::kPerMinute);
  EXPECT_TRUE(works(right_, "2001:db8:0:1::1")) << "another network";
}

TEST_F(WrongKeys, ATypingErrorCostsNoLookUpAndIsNotCounted) {
  std::string typo = schemas::make_key_text();
  typo.back() = typo.back() == 'a' ? 'b' : 'a';
  for (int i = 0; i < 100; ++i) {
    const Auth::Decision decision = auth_->check(typo, "192.0.2.1");
    EXPECT_FALSE(decision.needs_lookup);
    EXPECT_EQ(decision.refusal, Code::kKeyInvalid);
  }
  EXPECT_TRUE(works(right_, "192.0.2.1"));
}

TEST_F(WrongKeys, AKeyOfAnOlderVersionWithoutAChecksumGoesOnWorking) {
  std::string old = right_;
  old.replace(old.size() - 6, 6, "zzzzzz");
  ASSERT_FALSE(schemas::has_checksum(old));
  storage::ApiKeyRow row;
  row.id = "oldoldol";
  old.replace(8, 8, row.id);
  row.mac = key_mac(pepper_, old);
  row.name = "old";
  row.tenant = "default";
  std::promise<bool> made;
  storage::ApiKeys(*store_).create(row, [&](const auto& done) { made.set_value(done.has_value()); });
  ASSERT_TRUE(made.get_future().get());
  ASSERT_TRUE(auth_->refresh().has_value());
  EXPECT_TRUE(works(old, "192.0.2.1"));
}

TEST(FailedAttemptsSwitch, ZeroMeansNoLimit) {
  FailedAttempts failed(0);
  for (int i = 0; i < 100; ++i) failed.add("192.0.2.1", base::BootTime());
  EXPECT_EQ(failed.retry_after("192.0.2.1", base::BootTime()).count(), 0);
}

}  // namespace
}  // namespace millrace::api
