#include <gtest/gtest.h>
#include <unistd.h>

#include "storage/writer/fair_write_lock.h"
#include "tests/support/wait_until.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

// Another process holds the write lock.
class StuckStore : public Served {
 protected:
  StuckStore() : Served(std::chrono::milliseconds(60)) {}
  ~StuckStore() override { let_go(); }

  void hold() {
    auto opened = storage::FairWriteLock::open(folder.str() + "/locks");
    ASSERT_TRUE(opened.has_value());
    line_ = std::move(*opened);
    ASSERT_TRUE(line_->acquire());
  }
  void let_go() {
    if (line_) line_->release();
    line_.reset();
  }
  std::string make() { return post("/v1/ocr", ocr_body(pdf_of(9)), kAsync).json()["id"]; }
  void expect_busy(const Answer& answer) {
    EXPECT_EQ(answer.status, 503) << answer.body;
    EXPECT_TRUE(answer.has("retry-after"));
    EXPECT_TRUE(answer.has("retry-after-ms"));
  }

 private:
  std::unique_ptr<storage::FairWriteLock> line_;
};

TEST_F(StuckStore, ACancelIsAnsweredAndDoesNotHappenLater) {
  start();
  const std::string id = make();
  hold();
  expect_busy(post("/v1/jobs/" + id + "/cancel", ""));
  // Refused immediately, because the store already reports that it is stuck.
  expect_busy(post("/v1/jobs/" + id + "/cancel", ""));
  let_go();
  EXPECT_TRUE(support::wait_until([&] { return claim().has_value(); }));
  EXPECT_EQ(get("/v1/jobs/" + id).json()["status"], "running");
  EXPECT_EQ(post("/v1/jobs/" + id + "/cancel", "").status, 200);
}

TEST_F(StuckStore, AnIdleProcessReportsTheLockHolderAndRecovers) {
  start();
  const auto store_is = [&](const std::string& state) {
    return support::wait_until([&] { return get("/readyz").json()["store"]["status"] == state; });
  };
  ASSERT_TRUE(store_is("ok"));
  hold();
  ASSERT_TRUE(store_is("degraded"));
  const Answer stuck = get("/readyz");
  EXPECT_EQ(stuck.status, 503);
  EXPECT_NE(stuck.body.find("by pid " + std::to_string(::getpid())), std::string::npos) << stuck.body;
  let_go();
  EXPECT_TRUE(store_is("ok"));
}

TEST_F(StuckStore, ARetryIsAnswered) {
  start();
  const std::string id = make();
  fail(claim()->lease, base::Code::kDocumentDamaged, "broken");
  hold();
  expect_busy(post("/v1/jobs/" + id + "/retry", ""));
  let_go();
  EXPECT_TRUE(support::wait_until([&] { return post("/v1/jobs/" + id + "/retry", "").status == 202; }));
}

TEST_F(StuckStore, ARevocationEndsWithAnErrorThatSaysWhen) {
  start();
  const std::string id(*schemas::key_id(owner));
  hold();
  const base::Status revoked = revoke_key(*store, id);
  ASSERT_FALSE(revoked.has_value());
  EXPECT_EQ(revoked.error().code, base::Code::kOverloaded);
  EXPECT_GT(revoked.error().retry_after.count(), 0);
  let_go();
  EXPECT_TRUE(support::wait_until([&] { return revoke_key(*store, id).has_value(); }));
}

}  // namespace
}  // namespace millrace::api::test
