#include "storage/machines/artifacts.h"

#include <unistd.h>

#include "storage/admin/audit.h"
#include "storage/db/db.h"
#include "storage/writer/readers.h"
#include "tests/unit/storage/fake_blob.h"
#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

using base::Code;
using schemas::Artifact;

class ArtifactRows : public ::testing::Test {
 protected:
  JobOutcomes::NewArtifact file(const std::string& name, const std::string& content = "x") {
    return {base::Uuid::make(s_.clock.wall()), name, "text/plain",
            std::make_shared<FakeBlob>(content, std::to_string(++files_))};
  }
  base::Result<ReportResult> leave(const Lease& lease, std::vector<JobOutcomes::NewArtifact> files) {
    return await<ReportResult>([&](auto done) { s_.outcomes().artifacts(lease, machine_, files, done); });
  }
  std::vector<std::string> names(int limit = 99, std::optional<base::Uuid> before = {},
                                 std::optional<schemas::JobId> execution = {}) {
    std::vector<std::string> found;
    const auto items = artifacts_.list(kTenant, machine_, limit, before, execution).value();
    for (const Artifact& each : items) found.push_back(each.name);
    return found;
  }
  base::Result<Artifact> artifact(const base::Uuid& id) { return artifacts_.artifact(kTenant, machine_, id); }
  IdempotentCall call(const std::string& tenant = kTenant) {
    return {.tenant = tenant, .actor = "aaaaaaaa", .key = {}, .act = {schemas::Kind::kMachine, {}}};
  }
  base::Result<CallReply> remove(const base::Uuid& id, IdempotentCall by) {
    return await<CallReply>([&](auto done) {
      artifacts_.remove(
          machine_, id, std::move(by), [](const Artifact& a) { return a.name; }, done);
    });
  }
  std::int64_t refs(const std::string& content = "x") {
    const auto sha256 = base::sha256(content);
    return read(s_.store().readers(),
                [&](Db& db) {
                  auto s = db.prepare("SELECT refs FROM blobs WHERE sha256 = ?1");
                  s.bind(BlobView{{reinterpret_cast<const char*>(sha256.data()), sha256.size()}});
                  return s.step() ? s.integer(0) : -1;
                })
        .value();
  }

  JobStore s_;
  Artifacts artifacts_{s_.store()};
  base::Uuid machine_ = base::Uuid::make(s_.clock.wall());
  int files_ = 0;
};

TEST_F(ArtifactRows, AnArtifactIsWhatTheCommandHasLeft) {
  const Lease lease = s_.run_command();
  const auto left = file("report/index.html", "hello");
  ASSERT_EQ(leave(lease, {left}).value(), ReportResult::kApplied);
  const Artifact seen = artifact(left.id).value();
  EXPECT_EQ(seen.id, left.id);
  EXPECT_EQ(seen.machine, machine_);
  EXPECT_EQ(seen.execution, lease.job);
  EXPECT_EQ(seen.name, "report/index.html");
  EXPECT_EQ(seen.mime_type, "text/plain");
  EXPECT_EQ(seen.bytes, 5);
  EXPECT_EQ(seen.sha256, base::sha256("hello"));
  EXPECT_EQ(seen.created_at, s_.clock.wall());
  EXPECT_FALSE(seen.expires_at) << "the execution is still running";
  EXPECT_EQ(std::static_pointer_cast<FakeBlob>(left.content)->referenced(), true);
  s_.finish(lease);
  EXPECT_EQ(artifact(left.id)->expires_at, s_.view(lease.job).result_expires_at);
}

TEST_F(ArtifactRows, ItsEndMovesWithTheClock) {
  for (const auto by : {std::chrono::milliseconds(3h), std::chrono::milliseconds(-7h)}) {
    const Lease lease = s_.run_command();
    const auto left = file("a");
    ASSERT_TRUE(leave(lease, {left}));
    s_.finish(lease);
    const auto before = artifact(left.id)->expires_at.value();
    s_.clock.jump_wall(by);
    s_.release_due();
    EXPECT_EQ(artifact(left.id)->expires_at, before + by);
    EXPECT_EQ(artifacts_.list(kTenant, machine_, 1, {})->front().expires_at, before + by);
    EXPECT_EQ(artifact(left.id)->expires_at, s_.view(lease.job).result_expires_at);
  }
}

TEST_F(ArtifactRows, AnothersAndThoseOfAnotherMachineAreNotThere) {
  const Lease lease = s_.run_command();
  const auto left = file("a");
  ASSERT_TRUE(leave(lease, {left}));
  const auto elsewhere = base::Uuid::make(s_.clock.wall());
  EXPECT_EQ(artifacts_.artifact("other", machine_, left.id).error().code, Code::kNotFound);
  EXPECT_EQ(artifacts_.artifact(kTenant, elsewhere, left.id).error().code, Code::kNotFound);
  EXPECT_EQ(artifacts_.open("other", machine_, left.id).error().code, Code::kNotFound);
  EXPECT_EQ(remove(left.id, call("other")).error().code, Code::kNotFound);
  EXPECT_TRUE(artifacts_.list("other", machine_, 9, {})->empty());
  EXPECT_TRUE(artifacts_.list(kTenant, elsewhere, 9, {})->empty());
  EXPECT_TRUE(artifacts_.list("other", machine_, 9, {}, lease.job)->empty());
}

TEST_F(ArtifactRows, AListIsNewestFirstAndContinuesBelowAnId) {
  const Lease lease = s_.run_command();
  const auto a = file("a"), b = file("b"), c = file("c");
  ASSERT_TRUE(leave(lease, {a, b}));
  const Lease other = s_.run_command();
  ASSERT_TRUE(leave(other, {c}));
  EXPECT_EQ(names(), (std::vector<std::string>{"c", "b", "a"}));
  EXPECT_EQ(names(2), (std::vector<std::string>{"c", "b"}));
  EXPECT_EQ(names(9, b.id), (std::vector<std::string>{"a"}));
  EXPECT_EQ(names(9, {}, lease.job), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(names(1, b.id, lease.job), (std::vector<std::string>{"a"}));
  EXPECT_TRUE(names(0).empty());
}

TEST_F(ArtifactRows, ANameThatIsThereIsSkippedAndItsFileGoes) {
  const Lease lease = s_.run_command();
  ASSERT_TRUE(leave(lease, {file("a", "first")}));
  const auto again = file("a", "second"), twice = file("b");
  ASSERT_EQ(leave(lease, {again, twice, file("b")}).value(), ReportResult::kApplied);
  EXPECT_EQ(names(), (std::vector<std::string>{"b", "a"}));
  EXPECT_FALSE(std::static_pointer_cast<FakeBlob>(again.content)->referenced());
  EXPECT_EQ(refs("second"), -1);
  EXPECT_EQ(refs(), 1);
}

TEST_F(ArtifactRows, AnExecutionHasABoundedNumber) {
  const Lease lease = s_.run_command();
  std::vector<JobOutcomes::NewArtifact> files;
  for (int i = 0; i < schemas::kArtifactsMax; ++i) files.push_back(file(std::to_string(i)));
  ASSERT_TRUE(leave(lease, files));
  EXPECT_TRUE(leave(lease, {file("7")})) << "a file with an existing name does not count";
  const auto refused = leave(lease, {file("one more")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInternal);
  EXPECT_NE(refused.error().message.find("100"), std::string::npos);
  EXPECT_EQ(names().size(), 99u);
}

TEST_F(ArtifactRows, OnlyTheRunningAttemptAddsSomeAlsoWhileItStops) {
  const Lease lease = s_.run_command();
  s_.cancel(lease.job).value();
  EXPECT_EQ(leave(lease, {file("a")}).value(), ReportResult::kApplied);
  s_.cancelled(lease);
  EXPECT_EQ(leave(lease, {file("b")}).value(), ReportResult::kLeaseLost);
  EXPECT_EQ(names(), (std::vector<std::string>{"a"}));
}

TEST_F(ArtifactRows, ARemovedOneIsGoneAndItsFileWithTheLastOfItsContent) {
  const Lease lease = s_.run_command();
  const auto a = file("a"), b = file("b");
  ASSERT_TRUE(leave(lease, {a, b}));
  EXPECT_EQ(refs(), 2);
  EXPECT_EQ(remove(a.id, call())->body, "a");
  EXPECT_EQ(refs(), 1);
  EXPECT_EQ(artifact(a.id).error().code, Code::kNotFound);
  EXPECT_EQ(remove(a.id, call()).error().code, Code::kNotFound);
  const auto referenced = Audit(s_.store()).rows(0, 99)->back().entry;
  EXPECT_EQ(referenced.act, "artifact.delete");
  EXPECT_EQ(referenced.actor, "aaaaaaaa");
  EXPECT_EQ(referenced.target, schemas::artifact_id(a.id));
}

TEST_F(ArtifactRows, ARepeatedRemovalIsGivenItsFirstReply) {
  const auto a = file("a");
  ASSERT_TRUE(leave(s_.run_command(), {a}));
  IdempotentCall by = call();
  by.key = IdempotencyKey{"DELETE", "/v1/machines/m/artifacts/a", "k", {}};
  EXPECT_FALSE(remove(a.id, by)->replayed);
  const auto again = remove(a.id, by).value();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.body, "a");
}

TEST_F(ArtifactRows, TheyGoWithTheExecutionsRecord) {
  const Lease lease = s_.run_command();
  ASSERT_TRUE(leave(lease, {file("a"), file("b", "y")}));
  s_.finish(lease);
  ASSERT_TRUE(s_.remove(lease.job));
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(refs(), 0);
  EXPECT_EQ(refs("y"), 0);
}

TEST_F(ArtifactRows, ARecordAndAPageOfALaneNameThemInTheOrderOfTheirMaking) {
  const auto a = file("z"), b = file("a"), c = file("c");
  const Lease first = s_.run_command(), none = s_.run_command(), last = s_.run_command();
  ASSERT_TRUE(leave(first, {a, b}));
  ASSERT_TRUE(leave(last, {c}));
  using Named = std::vector<std::pair<base::Uuid, std::string>>;
  const Named of_first{{a.id, "z"}, {b.id, "a"}}, of_last{{c.id, "c"}};
  EXPECT_EQ(s_.queries().record(kTenant, first.job)->artifacts, of_first);
  EXPECT_TRUE(s_.queries().record(kTenant, none.job)->artifacts.empty());
  const auto page = s_.queries().lane(kTenant, schemas::Kind::kExec, "dm-1", 9, {}).value();
  ASSERT_EQ(page.size(), 3u);
  EXPECT_EQ(page[0].artifacts, of_last);
  EXPECT_TRUE(page[1].artifacts.empty());
  EXPECT_EQ(page[2].artifacts, of_first);
  const auto below = s_.queries().lane(kTenant, schemas::Kind::kExec, "dm-1", 1, none.job.uuid).value();
  ASSERT_EQ(below.size(), 1u);
  EXPECT_EQ(below[0].artifacts, of_first);
}

TEST(ArtifactFiles, AreReadAsTheyWereLeft) {
  JobStore s;
  const Lease lease = s.run_command();
  auto writer = s.store().blobs().begin(5);
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->append("hello"));
  const base::Uuid machine = base::Uuid::make(s.clock.wall()), id = base::Uuid::make(s.clock.wall());
  const auto left = await<ReportResult>([&, staged = (*writer)->finish().value()](auto done) {
    s.outcomes().artifacts(lease, machine, {{id, "a.txt", "text/plain", staged}}, done);
  });
  ASSERT_EQ(left.value(), ReportResult::kApplied);
  const auto file = Artifacts(s.store()).open(kTenant, machine, id);
  ASSERT_TRUE(file);
  std::string bytes(9, '\0');
  bytes.resize(static_cast<std::size_t>(::pread(file->fd(), bytes.data(), bytes.size(), 0)));
  EXPECT_EQ(bytes, "hello");
}

}  // namespace
}  // namespace millrace::storage::testing
