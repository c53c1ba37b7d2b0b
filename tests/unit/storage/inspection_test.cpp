#include "storage/admin/inspection.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "storage/blobs/image_files.h"
#include "storage/data_dir.h"
#include "storage/machines/artifacts.h"
#include "storage/sqlite/database.h"
#include "tests/unit/storage/job_store.h"
#include "tests/unit/storage/opened_store.h"
#include "tests/unit/storage/other_process.h"

namespace millrace::storage {
namespace {

namespace fs = std::filesystem;
using testing::await;
using testing::kTenant;

// Name → modification time and content of each file in a folder.
std::map<std::string, std::string> content_of(const fs::path& folder) {
  std::map<std::string, std::string> content;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::string& text = content[entry.path().string()];
    text = std::to_string(entry.last_write_time().time_since_epoch().count()) + " ";
    if (entry.is_regular_file()) text += std::string(std::istreambuf_iterator<char>(in), {});
  }
  return content;
}

class Inspection : public ::testing::Test {
 protected:
  // A store that was killed while it had a log.
  void kill_a_gateway() const {
    OtherProcess gateway([&](auto&) {
      base::SystemClock clock;
      Store::Options options = test_options(data_);
      options.checkpoint_interval = std::chrono::hours(1);
      auto store = opened(options, clock);
      static_cast<void>(write(*store, bump));
      ::_exit(0);
      return 0;
    });
    EXPECT_EQ(gateway.wait(), 0);
  }

  const support::TempDir dir_;
  const std::string data_ = dir_.str() + "/data";
  const base::SystemClock clock_;
};

TEST_F(Inspection, CommentsAndBlanksAreNoDifferenceOfASchema) {
  opened(test_options(data_), clock_).reset();
  const auto change = [&](const std::string& from, const std::string& to) {
    SqliteDb db({.path = DataDir(data_).database});
    db.execute("PRAGMA writable_schema = ON");
    db.prepare("UPDATE sqlite_schema SET sql = replace(sql, ?1, ?2) WHERE name IN ('jobs', 'jobs_ready')")
        .bind(from, to)
        .run();
  };
  change("(", " ( -- it's of another version\n");
  EXPECT_TRUE(inspect_store(data_));
  change("priority", "urgency");
  EXPECT_FALSE(inspect_store(data_));
}

TEST_F(Inspection, ChangesNothingInAStoppedStore) {
  opened(test_options(data_), clock_).reset();
  const auto before = content_of(data_);
  const auto found = inspect_store(data_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(content_of(data_), before);
  EXPECT_FALSE(found->is_open);
  EXPECT_EQ(found->schema, found->newest_schema);
  EXPECT_EQ(found->log_bytes, 0);
}

TEST_F(Inspection, ChangesNothingOfAStoreThatWasKilledAndReadsItsLog) {
  kill_a_gateway();
  fs::remove(data_ + "/millrace.db-shm");
  const auto before = content_of(data_);
  const auto found = inspect_store(data_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(content_of(data_), before);
  EXPECT_EQ(found->schema, found->newest_schema) << "only the log contains the new schema";
  EXPECT_GT(found->log_bytes, 0);
  const auto store = opened(test_options(data_), clock_);
  EXPECT_EQ(bumps(*store), 1) << "the log must be intact";
}

TEST_F(Inspection, LooksForFilesOnlyWhereTheyAre) {
  opened(test_options(data_), clock_).reset();
  SqliteDb({.path = DataDir(data_).database})
      .execute(
          "INSERT INTO blobs (sha256, tenant, path, bytes, refs) VALUES (x'01', 't', 'aa/in-the-bucket', 5, "
          "1)");
  EXPECT_EQ(inspect_store(data_)->damage, std::vector<std::string>{"file blobs/aa/in-the-bucket"});
  EXPECT_TRUE(inspect_store(data_, BlobPlace::kElsewhere)->damage.empty());
}

TEST_F(Inspection, LooksAtAStoreThatAGatewayHasOpen) {
  const auto store = opened(test_options(data_), clock_);
  ASSERT_TRUE(write(*store, bump));
  const auto found = inspect_store(data_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->is_open);
  EXPECT_EQ(found->stuck_lock, "");
  EXPECT_TRUE(write(*store, bump));
}

TEST_F(Inspection, MakesNothingOverADatabaseWithoutTables) {
  opened(test_options(data_), clock_).reset();
  fs::remove(data_ + "/millrace.db");
  { SqliteDb empty({.path = data_ + "/millrace.db"}); }
  const auto before = content_of(data_);
  const auto found = inspect_store(data_);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("shows that there was a store"), std::string::npos)
      << found.error().message;
  EXPECT_EQ(content_of(data_), before);
}

TEST_F(Inspection, RefusesAMalformedDatabase) {
  opened(test_options(data_), clock_).reset();
  std::fstream file(data_ + "/millrace.db", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(kPageBytes + 100);
  file << std::string(3 * kPageBytes, '\xff');
  file.close();
  const auto found = inspect_store(data_);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("restore a backup"), std::string::npos) << found.error().message;
}

// One digit of a stored row changes on the disk.
class DamagedRow : public ::testing::Test {
 protected:
  void change(const std::string& table) {
    ASSERT_TRUE(write(store_.store(), [&](Tx& tx) -> base::Status {
      tx.db.script("UPDATE " + table + " SET bytes = CAST(replace(CAST(bytes AS TEXT), '7', '8') AS BLOB)");
      return {};
    }));
  }
  schemas::JobId submit() {
    Submission s = store_.order();
    s.spec = R"({"amount":17})";
    return store_.submit(std::move(s));
  }
  std::vector<std::string> damage() {
    const auto found = inspect_store(store_.folder());
    EXPECT_TRUE(found);
    return found ? found->damage : std::vector<std::string>();
  }

  testing::JobStore store_;
};

TEST_F(DamagedRow, ARequestIsClaimedWithoutItsBytes) {
  const schemas::JobId job = submit();
  EXPECT_TRUE(damage().empty());
  change("job_specs");
  EXPECT_EQ(damage(), std::vector<std::string>{"request of " + job.str()});
  const auto claimed = store_.claim(1);
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_TRUE(claimed.front().spec_damaged);
  EXPECT_EQ(claimed.front().spec, "");
  EXPECT_EQ(store_.queries().input(kTenant, job)->spec.damaged, base::Code::kRequestDamaged);
}

TEST_F(DamagedRow, ARequestIsNotRetried) {
  const schemas::JobId job = submit();
  store_.fail(store_.claim_one());
  change("job_specs");
  const auto retried = await<Submitted>([&](auto done) {
    store_.intake().retry({.by = {.tenant = kTenant},
                           .old = job,
                           .new_job = store_.new_id(),
                           .deadline_after = std::chrono::hours(1)},
                          done);
  });
  ASSERT_FALSE(retried);
  EXPECT_EQ(retried.error().code, base::Code::kRequestDamaged);
}

TEST_F(DamagedRow, AResultIsNotRead) {
  const schemas::JobId job = submit(), other = submit();
  store_.finish(store_.claim_one(), R"({"amount":7})");
  store_.finish(store_.claim_one(), R"({"amount":1})");
  EXPECT_EQ(store_.queries().result(kTenant, job)->payload->bytes, R"({"amount":7})");
  change("job_results");
  const auto result = store_.queries().result(kTenant, job);
  EXPECT_EQ(result->payload->bytes, "");
  EXPECT_EQ(result->payload->damaged, base::Code::kResultDamaged);
  EXPECT_EQ(store_.queries().result(kTenant, other)->payload->bytes, R"({"amount":1})")
      << "other rows are intact";
  EXPECT_EQ(damage(), std::vector<std::string>{"result of " + job.str()});
}

TEST_F(DamagedRow, APartIsNotRead) {
  const schemas::JobId job = submit();
  const Lease lease = store_.claim_one();
  store_.part(lease, 0, "first");
  store_.part(lease, 1, "page 7");
  store_.part(lease, 2, "7");
  store_.part(lease, 2, "third", true);
  change("job_parts");
  EXPECT_EQ(store_.queries().part(kTenant, job, 0)->bytes, "first");
  EXPECT_EQ(store_.queries().part(kTenant, job, 1)->damaged, base::Code::kResultDamaged);
  EXPECT_EQ(store_.queries().part(kTenant, job, 2)->bytes, "third");
  EXPECT_EQ(damage(), std::vector<std::string>{"part 1 of " + job.str()});
}

TEST_F(DamagedRow, AChildsRequestEndsTheReadingOfAll) {
  submit();
  const Lease lease = store_.claim_one();
  store_.split(lease, 2);
  EXPECT_TRUE(store_.queries().children(lease.job));
  ASSERT_TRUE(write(store_.store(), [&](Tx& tx) -> base::Status {
    tx.db.script("UPDATE job_specs SET bytes = x'00' WHERE id = (SELECT max(id) FROM job_specs)");
    return {};
  }));
  const auto children = store_.queries().children(lease.job);
  ASSERT_FALSE(children);
  EXPECT_EQ(children.error().code, base::Code::kRequestDamaged);
}

// A page of the database was lost, so the rows that others refer to are gone.
class MissingRow : public DamagedRow {
 protected:
  void drop_rows(const std::string& table) {
    ASSERT_TRUE(write(store_.store(), [&](Tx& tx) -> base::Status {
      tx.db.script("DELETE FROM " + table);
      return {};
    }));
  }
};

TEST_F(MissingRow, AResultIsDamagedAndNotDeleted) {
  const schemas::JobId job = submit();
  store_.finish(store_.claim_one(), R"({"amount":7})");
  EXPECT_TRUE(damage().empty());
  drop_rows("job_results");
  const auto result = store_.queries().result(kTenant, job);
  ASSERT_TRUE(result && result->payload);
  EXPECT_EQ(result->payload->damaged, base::Code::kResultDamaged);
  const auto record = store_.queries().record(kTenant, job);
  ASSERT_TRUE(record && record->result);
  EXPECT_EQ(record->result->damaged, base::Code::kResultDamaged);
  EXPECT_EQ(damage(), std::vector<std::string>{"result of " + job.str()});
}

TEST_F(MissingRow, ARequestIsDamaged) {
  const schemas::JobId job = submit();
  drop_rows("job_specs");
  EXPECT_EQ(damage(), std::vector<std::string>{"request of " + job.str()});
  EXPECT_EQ(store_.queries().input(kTenant, job)->spec.damaged, base::Code::kRequestDamaged);
  const auto claimed = store_.claim(1);
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_TRUE(claimed.front().spec_damaged);
}

TEST_F(MissingRow, AnArtifactOrImageWithoutItsFilesRowIsDamagedAndNotDeleted) {
  const base::Uuid id = base::Uuid::from_bytes(std::string(16, '\x07')).value();
  const base::Uuid machine = base::Uuid::from_bytes(std::string(16, '\x08')).value();
  ASSERT_TRUE(write(store_.store(), [&](Tx& tx) -> base::Status {
    tx.db.prepare("INSERT INTO image_files (id, blob, expires_at) VALUES (?1, 77, 9000000000000)")
        .bind(id)
        .run();
    tx.db
        .prepare(R"(
        INSERT INTO artifacts (id, tenant, machine, job, name, mime_type, blob, created_at)
        VALUES (?1, ?2, ?3, ?3, 'a', 'text/plain', 78, 1))"_sql)
        .bind(id, kTenant, machine)
        .run();
    return {};
  }));
  const auto image = ImageFiles(store_.store()).open(id);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, base::Code::kStoredDamaged);
  const auto artifact = Artifacts(store_.store()).open(kTenant, machine, id);
  ASSERT_FALSE(artifact);
  EXPECT_EQ(artifact.error().code, base::Code::kStoredDamaged);
  EXPECT_EQ(damage(), (std::vector<std::string>{"artifact " + id.str(), "image " + id.str()}));
}

// Older than schema 16.
TEST_F(DamagedRow, ARowWithoutAHashIsReadAsItIs) {
  submit();
  ASSERT_TRUE(write(store_.store(), [](Tx& tx) -> base::Status {
    tx.db.script("UPDATE job_specs SET hash = NULL");
    return {};
  }));
  change("job_specs");
  EXPECT_EQ(store_.claim(1).front().spec, R"({"amount":18})");
  EXPECT_TRUE(damage().empty());
}

}  // namespace
}  // namespace millrace::storage
