#include "storage/admin/audit.h"

#include "storage/admin/api_keys.h"
#include "storage/db/db.h"
#include "tests/unit/storage/job_store.h"
#include "tests/unit/storage/opened_store.h"
#include "tests/unit/storage/other_process.h"

namespace millrace::storage::testing {
namespace {

AuditEntry entry(const std::string& target, const std::string& data = R"({"n":1})") {
  return {.tenant = kTenant, .actor = "aaaaaaaa", .act = "ssh.issue", .target = target, .data = data};
}

base::Status append(Store& store, const std::vector<AuditEntry>& entries) {
  return write(store, [entries](Tx& tx) {
    for (const AuditEntry& each : entries) append_audit(tx, each);
    return base::Status{};
  });
}

class AuditLog : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(append(s_.store(), {entry("a"), entry("b"), entry("c")})); }
  void tamper(Sql sql) {
    ASSERT_TRUE(write(s_.store(), [sql](Tx& tx) {
      tx.db.execute(sql);
      return base::Status{};
    }));
  }
  Audit::Verification verification() { return audit_.verify().value(); }
  std::optional<std::int64_t> broken_at() { return verification().broken_at; }

  JobStore s_;
  Audit audit_{s_.store()};
};

TEST_F(AuditLog, ARowIsWhatWasDoneAndFollowsFromTheOneBefore) {
  const auto rows = audit_.rows(0, 9).value();
  ASSERT_EQ(rows.size(), 3u);
  base::Sha256Digest before{};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].seq, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(rows[i].at, s_.clock.wall());
    EXPECT_EQ(rows[i].prev_hash, before);
    EXPECT_EQ(rows[i].hash, audit_hash(before, rows[i]));
    before = rows[i].hash;
  }
  const AuditEntry& first = rows[0].entry;
  EXPECT_EQ(first.tenant, kTenant);
  EXPECT_EQ(first.actor, "aaaaaaaa");
  EXPECT_EQ(first.act, "ssh.issue");
  EXPECT_EQ(first.target, "a");
  EXPECT_EQ(first.data, R"({"n":1})");
}

TEST_F(AuditLog, AnActionThatChangesNothingElseIsAuditedAlone) {
  EXPECT_TRUE(await<bool>([&](auto done) { audit_.append(entry("d"), done); }).value());
  EXPECT_EQ(audit_.rows(3, 9)->at(0).entry.target, "d");
  EXPECT_EQ(verification().rows, 4);
  EXPECT_FALSE(broken_at());
}

TEST_F(AuditLog, RowsGoOnAfterANumber) {
  const auto rows = audit_.rows(1, 1).value();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].seq, 2);
  EXPECT_TRUE(audit_.rows(3, 9)->empty());
  EXPECT_TRUE(audit_.rows(0, 0)->empty());
}

TEST_F(AuditLog, AnUntouchedLogIsWholeAndSoIsAnEmptyOne) {
  EXPECT_EQ(verification().rows, 3);
  EXPECT_EQ(verification().last_hash, audit_.rows(2, 1)->at(0).hash);
  EXPECT_FALSE(broken_at());
  JobStore other;
  const auto empty = Audit(other.store()).verify().value();
  EXPECT_EQ(empty.rows, 0);
  EXPECT_FALSE(empty.broken_at);
}

TEST_F(AuditLog, EveryFieldIsUnderTheHash) {
  const auto row = audit_.rows(1, 1)->at(0);
  const auto differs = [&](auto&& change) {
    AuditRow other = row;
    change(other);
    return audit_hash(other.prev_hash, other) != row.hash;
  };
  EXPECT_TRUE(differs([](AuditRow& r) { ++r.seq; }));
  EXPECT_TRUE(differs([](AuditRow& r) { r.at += 1ms; }));
  EXPECT_TRUE(differs([](AuditRow& r) { r.entry.tenant += "x"; }));
  EXPECT_TRUE(differs([](AuditRow& r) { r.entry.actor += "x"; }));
  EXPECT_TRUE(differs([](AuditRow& r) { r.entry.act += "x"; }));
  EXPECT_TRUE(differs([](AuditRow& r) { r.entry.target += "x"; }));
  EXPECT_TRUE(differs([](AuditRow& r) { r.entry.data += " "; }));
  EXPECT_TRUE(differs([](AuditRow& r) { r.prev_hash[0] ^= 1; }));
  EXPECT_TRUE(differs([](AuditRow& r) {
    r.entry.act += r.entry.target.front();
    r.entry.target.erase(0, 1);
  })) << "a byte that moves to the next field must be detected";
}

TEST_F(AuditLog, AChangedRowIsNamed) {
  tamper("UPDATE audit SET actor = 'somebody' WHERE seq = 2");
  EXPECT_EQ(broken_at(), 2);
  EXPECT_EQ(verification().rows, 1);
}

TEST_F(AuditLog, ARowThatWasHashedAgainBreaksTheNextOne) {
  AuditRow row = audit_.rows(1, 1)->at(0);
  row.entry.actor = "somebody";
  const auto hash = audit_hash(row.prev_hash, row);
  ASSERT_TRUE(write(s_.store(), [hash](Tx& tx) {
    const BlobView view{{reinterpret_cast<const char*>(hash.data()), hash.size()}};
    tx.db.prepare("UPDATE audit SET actor = 'somebody', hash = ?1 WHERE seq = 2").bind(view).run();
    return base::Status{};
  }));
  EXPECT_EQ(broken_at(), 3);
}

TEST_F(AuditLog, ARemovedRowIsNamed) {
  tamper("DELETE FROM audit WHERE seq = 2");
  EXPECT_EQ(broken_at(), 2);
}

TEST_F(AuditLog, ARowThatWasPutInIsNamed) {
  tamper(
      "INSERT INTO audit SELECT 4, at, tenant, actor, act, 'x', data, prev_hash, hash FROM audit WHERE seq = "
      "3");
  EXPECT_EQ(broken_at(), 4);
}

TEST_F(AuditLog, RowsThatWereCutOffItsEndAreMissedAlsoWhenOthersFollow) {
  tamper("DELETE FROM audit WHERE seq = 3");
  EXPECT_EQ(broken_at(), 3);
  ASSERT_TRUE(append(s_.store(), {entry("d")}));
  EXPECT_EQ(broken_at(), 3);
}

TEST_F(AuditLog, ManyRowsAreVerified) {
  std::vector<AuditEntry> entries;
  for (int i = 0; i < 4'000; ++i) entries.push_back(entry(std::to_string(i)));
  ASSERT_TRUE(append(s_.store(), entries));
  EXPECT_EQ(verification().rows, 4'003);
  EXPECT_FALSE(broken_at());
  tamper("UPDATE audit SET target = '' WHERE seq = 4001");
  EXPECT_EQ(broken_at(), 4'001);
}

TEST_F(AuditLog, AnActThatIsRolledBackLeavesNoRowAndNoGap) {
  EXPECT_FALSE(write(s_.store(), [](Tx& tx) {
    append_audit(tx, entry("never"));
    tx.db.execute("INSERT INTO access_version (one, version) VALUES (1, 1)");
    return base::Status{};
  }));
  ASSERT_TRUE(append(s_.store(), {entry("d")}));
  EXPECT_EQ(verification().rows, 4);
  EXPECT_FALSE(broken_at());
}

void append_many(const std::string& folder, const std::string& actor, int rows) {
  const base::SystemClock clock;
  const auto store = opened(test_options(folder), clock);
  for (int i = 0; i < rows; ++i) {
    AuditEntry each = entry(std::to_string(i));
    each.actor = actor;
    if (!append(*store, {each})) std::abort();
  }
  store->close();
}

TEST(AuditOfTwoProcesses, IsOneChain) {
  const support::TempDir dir;
  constexpr int kRows = 50;
  OtherProcess other([&](auto& line) {
    line.send('o');
    append_many(dir.str(), "other", kRows);
    return 0;
  });
  ASSERT_EQ(other.line().receive(), 'o');
  append_many(dir.str(), "this", kRows);
  ASSERT_EQ(other.wait(), 0);
  const base::SystemClock clock;
  const auto store = opened(test_options(dir.str()), clock);
  const auto verification = Audit(*store).verify().value();
  EXPECT_EQ(verification.rows, 2 * kRows);
  EXPECT_FALSE(verification.broken_at);
}

TEST(AuditOfKeys, CreatingAndRevokingAKeyIsAudited) {
  JobStore s;
  ApiKeys rows(s.store());
  const ApiKeyRow key{.id = "aaaaaaaa",
                      .mac = base::sha256("secret"),
                      .name = "ci",
                      .tenant = kTenant,
                      .scopes = {"jobs:read", "ocr"},
                      .created_at = s.clock.wall(),
                      .expires_at = {},
                      .revoked_at = {},
                      .last_used_at = {}};
  ASSERT_TRUE(await<bool>([&](auto done) { rows.create(key, done, "cli"); }));
  EXPECT_FALSE(await<bool>([&](auto done) { rows.create(key, done); })) << "refused, so no audit row";
  ASSERT_TRUE(await<bool>([&](auto done) { rows.revoke("aaaaaaaa", done, "bbbbbbbb"); }));
  ASSERT_TRUE(await<bool>([&](auto done) { rows.revoke("aaaaaaaa", done); })) << "repeated, so no audit row";
  const auto told = Audit(s.store()).rows(0, 9).value();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].entry.act, "key.create");
  EXPECT_EQ(told[0].entry.actor, "cli");
  EXPECT_EQ(told[0].entry.tenant, kTenant);
  EXPECT_EQ(told[0].entry.target, "aaaaaaaa");
  EXPECT_EQ(told[0].entry.data, R"({"name":"ci","scopes":"jobs:read ocr"})");
  EXPECT_EQ(told[1].entry.act, "key.revoke");
  EXPECT_EQ(told[1].entry.actor, "bbbbbbbb");
}

}  // namespace
}  // namespace millrace::storage::testing
