#include <fstream>
#include <iterator>

#include "storage/db/db.h"
#include "storage/writer/readers.h"
#include "tests/unit/storage/job_store.h"

// The sealed bytes of open executions.
namespace millrace::storage::testing {
namespace {

using base::Code;

std::int64_t count_of_secrets(Db& db) {
  auto s = db.prepare("SELECT count(*) FROM job_secrets");
  s.step();
  return s.integer(0);
}

std::int64_t secrets(JobStore& s) { return read(s.store().readers(), count_of_secrets).value(); }

TEST(JobSecrets, AnOpenJobHasItsSecret) {
  JobStore s;
  const auto job = s.submit(s.command());
  EXPECT_EQ(s.queries().secret(job).value(), "sealed");
  const Lease lease = s.claim_command();
  EXPECT_EQ(s.queries().secret(job).value(), "sealed");
  s.finish(lease);
  EXPECT_EQ(s.queries().secret(job).value(), "");
}

TEST(JobSecrets, NoneOutlivesTheEndOfItsJobWhicheverThatIs) {
  JobStore s;
  s.finish(s.run_command());
  s.fail(s.run_command());
  s.cancelled(s.run_command());
  s.expired(s.run_command());
  s.return_to_queue(s.run_command());
  s.cancel(s.submit(s.command())).value();
  s.run_command();
  s.release_worker();
  EXPECT_EQ(secrets(s), 0);
  s.run_command();
  s.let_leases_end();
  s.submit(s.command());
  EXPECT_EQ(secrets(s), 1);
  s.clock.advance(24h);
  EXPECT_EQ(s.expire_deadlines(), 1);
  EXPECT_EQ(secrets(s), 0);
}

TEST(JobSecrets, ACommandThatMayRunAgainKeepsItsSecretUntilItHas) {
  JobStore s;
  auto order = s.command();
  order.rerun = schemas::Rerun::kAtLeastOnce;
  s.run_command(order);
  s.release_worker();
  EXPECT_EQ(s.status(order.id), JobStatus::kQueued);
  EXPECT_EQ(s.queries().secret(order.id).value(), "sealed");
  s.fail(s.claim_command());
  EXPECT_EQ(s.status(order.id), JobStatus::kFailed) << "its own failure ends it";
  EXPECT_EQ(secrets(s), 0);
}

TEST(JobSecrets, AWipedOneIsInNoPageOfTheDatabase) {
  JobStore s;
  auto order = s.command();
  order.secret = std::string(20'000, 'x') + "the sealed bytes";
  const auto stored = [&] {
    s.stop();
    std::ifstream file(s.folder() + "/millrace.db", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    s.reopen();
    return bytes.find("the sealed bytes") != std::string::npos;
  };
  s.submit(order);
  EXPECT_TRUE(stored());
  s.cancel(order.id).value();
  EXPECT_FALSE(stored());
}

TEST(JobSecrets, AreBoundedAndOfCommandsOnly) {
  JobStore s;
  auto large = s.command();
  large.secret.assign(kSecretMax, 'x');
  EXPECT_TRUE(s.try_submit(large).has_value());
  large.id = s.new_id(schemas::Kind::kExec);
  large.secret += 'x';
  EXPECT_EQ(s.try_submit(large).error().code, Code::kInternal);
  auto page = s.order();
  page.secret = "sealed";
  EXPECT_EQ(s.try_submit(page).error().code, Code::kInternal);
}

TEST(JobSecrets, AReplayWritesNone) {
  JobStore s;
  auto order = s.command();
  order.idempotency = IdempotencyKey{"POST", "/v1/machines/dm-1/executions", "k", {}};
  s.submit(order);
  order.id = s.new_id(schemas::Kind::kExec);
  EXPECT_TRUE(s.try_submit(order)->replayed);
  EXPECT_EQ(secrets(s), 1);
}

}  // namespace
}  // namespace millrace::storage::testing
