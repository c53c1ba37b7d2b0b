#include "storage/admin/api_keys.h"
#include "tests/unit/storage/session_store.h"

// Ends of SSH sessions and the data that remains.
namespace millrace::storage::testing {
namespace {

using schemas::MachineDriver;
using schemas::MachinePhase;
using schemas::MachineState;
using schemas::SshSession;
using schemas::SshStatus;

TEST_F(SshSessionRows, AClosedOneIsRevokedUntilAMinuteAfterItsCertificatesEnd) {
  const base::Uuid id = awake(MachineDriver::kSsh);
  const SshSession first = created(id), second = created(id);
  EXPECT_TRUE(sessions_.revoked()->serials.empty());
  EXPECT_EQ(sessions_.revoked()->version, 0);
  EXPECT_EQ(close(second)->body, "closed");
  EXPECT_EQ(seen(second).closed_at, s_.clock.wall());
  EXPECT_EQ(sessions_.revoked()->serials, std::vector<std::int64_t>{2});
  EXPECT_EQ(sessions_.revoked()->version, 1);
  EXPECT_TRUE(close(first));
  EXPECT_EQ(sessions_.revoked()->serials, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(sessions_.revoked()->version, 2);
  EXPECT_EQ(close(first)->body, "closed");
  EXPECT_EQ(sessions_.revoked()->version, 2) << "it was already closed";
  s_.clock.advance(kLifetime);
  EXPECT_EQ(sessions_.revoked()->serials.size(), 2u)
      << "a host's clock may be slow, so expired serials stay listed for a while";
  s_.clock.advance(std::chrono::seconds(60));
  EXPECT_TRUE(sessions_.revoked()->serials.empty());
  EXPECT_EQ(sessions_.revoked()->version, 2);
}

TEST_F(SshSessionRows, ThoseOfAKeyThatHasEndedAreClosed) {
  const auto make_key = [&](const std::string& id, std::optional<base::WallTime> ends) {
    ApiKeyRow key;
    key.id = id;
    key.tenant = kTenant;
    key.scopes = {"exec:run", "ssh:issue"};
    key.expires_at = ends;
    ASSERT_TRUE(await<bool>([&](auto done) { ApiKeys(s_.store()).create(key, std::move(done)); }));
  };
  make_key("revoked1", {});
  make_key("expires1", s_.clock.wall() + 1min);
  make_key("goes_on1", s_.clock.wall() + 1h);
  make_key("reduced1", {});
  const base::Uuid id = awake(MachineDriver::kSsh);
  const auto of_key = [&](const std::string& key) {
    IdempotentCall by = call();
    by.actor = key;
    const base::Uuid session = base::Uuid::make(s_.clock.wall());
    EXPECT_TRUE(create(id, session, by));
    return sessions_.session(kTenant, id, session).value();
  };
  const SshSession revoked = of_key("revoked1"), expired = of_key("expires1"), open = of_key("goes_on1"),
                   reduced = of_key("reduced1"), of_none = created(id);
  const auto close_ended = [&] {
    return await<int>([&](auto done) { sessions_.close_of_ended_keys(done); }).value();
  };
  EXPECT_FALSE(sessions_.has_any_of_ended_keys().value());
  ASSERT_TRUE(await<bool>([&](auto done) { ApiKeys(s_.store()).revoke("revoked1", std::move(done)); }));
  EXPECT_TRUE(sessions_.has_any_of_ended_keys().value());
  EXPECT_EQ(close_ended(), 1);
  EXPECT_EQ(seen(revoked).status, SshStatus::kClosed);
  s_.clock.advance(1min);
  EXPECT_EQ(close_ended(), 1);
  EXPECT_EQ(seen(expired).status, SshStatus::kClosed);
  EXPECT_EQ(close_ended(), 0);
  EXPECT_EQ(seen(open).status, SshStatus::kReady);
  EXPECT_EQ(seen(of_none).status, SshStatus::kReady);
  schemas::KeyChange change;
  change.scopes = schemas::ScopeSet::parse({"exec:run"}).value();
  ASSERT_TRUE(
      await<bool>([&](auto done) { ApiKeys(s_.store()).change("reduced1", change, std::move(done)); }));
  EXPECT_EQ(close_ended(), 1);
  EXPECT_EQ(seen(reduced).status, SshStatus::kClosed);
  EXPECT_EQ(sessions_.revoked()->serials,
            (std::vector<std::int64_t>{revoked.serial, expired.serial, reduced.serial}));
  EXPECT_EQ(sessions_.ended_keys({"revoked1", "expires1", "goes_on1", "reduced1", "unknown1"}).value(),
            (std::vector<std::string>{"revoked1", "expires1", "reduced1"}));
  EXPECT_EQ(sessions_.key_of(open.serial).value(), "goes_on1");
  EXPECT_EQ(sessions_.key_of(99).value(), "");
}

TEST_F(SshSessionRows, TheVersionRisesAlsoWhenTheRowsAreGone) {
  const base::Uuid id = awake(MachineDriver::kSsh);
  EXPECT_TRUE(close(created(id)));
  ASSERT_TRUE(write(s_.store(), [](Tx& tx) {
    tx.db.execute("DELETE FROM ssh_sessions");
    return base::Status{};
  }));
  const SshSession next = created(id);
  EXPECT_EQ(next.serial, 2) << "serials are never reused";
  EXPECT_TRUE(close(next));
  EXPECT_EQ(sessions_.revoked()->version, 2);
}

TEST_F(SshSessionRows, OneThatIsOverStaysAsItIs) {
  const SshSession session = created(awake(MachineDriver::kSsh));
  s_.clock.advance(kLifetime);
  EXPECT_EQ(close(session)->body, "ready") << "stored as ready, shown as expired";
  EXPECT_EQ(sessions_.revoked()->version, 0);
}

TEST_F(SshSessionRows, AWaitingOneIsClosedWithoutACertificateToRevoke) {
  const base::Uuid id = asleep();
  const SshSession session = created(id);
  EXPECT_EQ(close(session)->body, "closed");
  EXPECT_TRUE(sessions_.revoked()->serials.empty());
  EXPECT_EQ(sessions_.revoked()->version, 0);
  set_state(id, MachineState::kRunning, MachinePhase::kRunning);
  listen(id, s_.incarnation);
  EXPECT_EQ(refreshed(session).status, SshStatus::kClosed);
}

TEST_F(SshSessionRows, IssueAndCloseAreAudited) {
  const SshSession session = created(awake(MachineDriver::kSsh));
  EXPECT_TRUE(close(session));
  const auto rows = audited();
  ASSERT_EQ(rows.size(), 2u);
  const AuditEntry &issued = rows[0].entry, &closed = rows[1].entry;
  const std::string machine = schemas::machine_id(session.machine);
  EXPECT_EQ(issued.act, "ssh.issue");
  EXPECT_EQ(issued.tenant, kTenant);
  EXPECT_EQ(issued.actor, "aaaaaaaa");
  EXPECT_EQ(issued.target, schemas::ssh_session_id(session.id));
  // The fingerprint of the three zero bytes that AAAA encodes.
  EXPECT_EQ(issued.data,
            R"({"machine":")" + machine +
                R"(","serial":1,"fingerprint":"SHA256:cJ6AyISHokEeHuTfufIqhhSS0gxHZRUMDHlKvXD4FHw",)" +
                R"("username":"millrace","expires_at":")" + base::rfc3339(session.expires_at) + "\"}");
  EXPECT_EQ(closed.act, "ssh.close");
  EXPECT_EQ(closed.target, issued.target);
  EXPECT_EQ(closed.data, R"({"machine":")" + machine + R"(","serial":1})");
}

}  // namespace
}  // namespace millrace::storage::testing
