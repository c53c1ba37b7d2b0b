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

// What the contract tests of bus::Dispatch and bus::Events ask of a real broker.
namespace millrace::bus {

// A deadline for what waits for a broker to come back.
inline constexpr std::chrono::seconds kOutage{40};

// A cluster of one broker that is looked at often.
inline KafkaCluster cluster_at(const std::string& address, const std::string& prefix) {
  KafkaCluster cluster;
  cluster.brokers = {address};
  cluster.prefix = prefix;
  cluster.partitions = 4;
  cluster.look_every = std::chrono::milliseconds(500);
  cluster.look_again = std::chrono::milliseconds(50);
  return cluster;
}

// For topics that no other test has.
inline std::string new_prefix() { return "t-" + base::Uuid::make(base::SystemClock().wall()).str(); }

// `Bus`: Dispatch or Events.
template <class Bus>
bool is_up(const Bus& bus) {
  return bus.health().health == Health::kUp;
}

// A broker of the test's own that comes and goes. `Bus`: KafkaDispatch or KafkaEvents. It ends before the
// broker does; a fixture whose members its callbacks use resets it in its own destructor.
template <class Bus>
class KafkaOutage : public testing::Test {
 protected:
  ~KafkaOutage() override {
    bus_.reset();
    broker_.kill();
  }

  // Not started.
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

  // What is published now arrives.
  virtual bool works() = 0;
  // Publishes with `publish` until `got` says that one of those has arrived.
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
  // Long enough that each partition has carried something.
  void works_well() {
    ASSERT_TRUE(comes_up());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(works());
  }
  // After an outage: by itself, in no fixed order.
  void works_again() {
    EXPECT_TRUE(works());
    EXPECT_TRUE(comes_up()) << bus_->health().detail;
  }

  support::TempDir folder_;
  support::KafkaBroker broker_{folder_.path() / "kafka"};
  std::unique_ptr<Bus> bus_;
};

}  // namespace millrace::bus
