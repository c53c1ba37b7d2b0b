#include <future>

#include <gtest/gtest.h>

#include "storage/tenants/tenants.h"
#include "storage/writer/fair_write_lock.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

using schemas::kNanoPerUsd;

class StoppedReservations : public Served {
 protected:
  StoppedReservations() {
    inference::ModelRow row;
    row.target.name = "up/priced";
    row.target.preset = providers::preset_named("openai");
    row.target.model = "priced";
    row.target.base_url = "http://127.0.0.1:9";
    row.price = inference::Price{.prompt = 1, .completion = 1};
    models.models = {row};
    std::promise<bool> set;
    storage::Tenants(*store).set(
        "default", {.limits = {}, .budget = schemas::Budget{.hard = kNanoPerUsd}},
        [&](const base::Result<bool>& done) { set.set_value(done.has_value()); }, "test");
    EXPECT_TRUE(set.get_future().get());
    start();
  }
};

// As the process stops: first the service, then the store, while the loop still runs.
TEST_F(StoppedReservations, AStopWhileARequestWaitsForItsReservationChargesNothing) {
  auto lock = storage::FairWriteLock::open(folder.str() + "/locks").value();
  Connection connection(server->port());
  ASSERT_TRUE(lock->acquire());
  connection.send({.method = "POST",
                   .path = "/v1/chat/completions",
                   .key = owner,
                   .body = R"({"model":"up/priced","messages":"x"})"});
  ASSERT_TRUE(support::wait_until([&] { return store->stats().queue_depth > 0; }));
  service->stop();
  lock->release();
  store->close();
  const auto again = storage::Store::open({.data_dir = folder.str()}, clock).value();
  const auto use = storage::Tenants(*again).find("default", schemas::UsagePeriod::kTotal).value().use;
  EXPECT_EQ(use.in_period.reserved, 0);
  EXPECT_EQ(use.in_period.cost, 0);
}

}  // namespace
}  // namespace millrace::api::test
