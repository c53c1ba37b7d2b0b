#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bus/bus.h"
#include "bus/kafka/kafka_settings.h"
#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

// Shared fixture of the contract tests of bus::Dispatch and bus::Events for outages of a real broker.
namespace millrace::bus {

// The time limit for recovery after an outage.
inline constexpr std::chrono::seconds kOutage{40};

// A cluster of one broker whose state is checked often.
inline KafkaCluster cluster_at(const std::string& address, const std::string& prefix) {
  KafkaCluster cluster;
  cluster.brokers = {address};
  cluster.prefix = prefix;
  cluster.partitions = 4;
  cluster.check_interval = std::chrono::milliseconds(500);
  cluster.check_retry_interval = std::chrono::milliseconds(50);
  return cluster;
}

// A topic prefix that no other test uses.
inline std::string new_prefix() { return "t-" + base::Uuid::make(base::SystemClock().wall()).str(); }

// `Bus`: Dispatch or Events.
template <class Bus>
bool is_up(const Bus& bus) {
  return bus.health().health == Health::kUp;
}

// A separate broker that the test starts and stops. `Bus`: KafkaDispatch or KafkaEvents. The bus is destroyed
// before the broker. If the callbacks of the bus use members of a fixture, the fixture resets the bus in its
// destructor.
template <class Bus>
class KafkaOutage : public testing::Test {
 protected:
  ~KafkaOutage() override {
    bus_.reset();
    broker_.kill();
  }

  // Creates the bus without starting it.
  void make_bus(const std::string& address) {
    KafkaCluster cluster = cluster_at(address, "millrace");
    cluster.message_timeout = std::chrono::seconds(3);
    bus_ = std::make_unique<Bus>(typename Bus::Options{.cluster = cluster});
  }
  bool comes_up() {
    return support::wait_until([&] { return is_up(*bus_); }, kOutage);
  }
  bool goes_down() {
    return support::wait_until([&] { return !is_up(*bus_); }, kOutage);
  }

  // Checks that a message published now arrives.
  virtual bool works() = 0;
  // Publishes with `publish` until `got` reports that one of these messages has arrived.
  template <class Message, class Publish, class Got>
  bool works_by(Publish publish, Got got) {
    std::vector<Message> published;
    return support::wait_until(
        [&] {
          published.push_back(publish());
          return got(published);
        },
        kOutage);
  }
  // Runs until each partition has carried a message.
  void works_well() {
    ASSERT_TRUE(comes_up());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(works());
  }
  // Checks that the bus recovers from an outage without help. Messages may arrive in any order.
  void works_again() {
    EXPECT_TRUE(works());
    EXPECT_TRUE(comes_up()) << bus_->health().detail;
  }

  support::TempDir folder_;
  support::KafkaBroker broker_{folder_.path() / "kafka"};
  std::unique_ptr<Bus> bus_;
};

}  // namespace millrace::bus
