#include "tests/unit/storage/session_store.h"

// Creation of SSH sessions, and how they become ready.
namespace millrace::storage::testing {
namespace {

using base::Code;
using schemas::MachineDriver;
using schemas::MachinePhase;
using schemas::MachineState;
using schemas::SshSession;
using schemas::SshStatus;

TEST_F(SshSessionRows, OneOfAnAwakeRemoteMachineIsReadyAtOnce) {
  const base::Uuid id = awake(MachineDriver::kSsh);
  const SshSession session = created(id);
  EXPECT_EQ(session.status, SshStatus::kReady);
  EXPECT_EQ(session.tenant, kTenant);
  EXPECT_EQ(session.public_key, kKey);
  EXPECT_EQ(session.serial, 1);
  EXPECT_EQ(session.created_at, s_.clock.wall());
  EXPECT_EQ(session.ready_at, s_.clock.wall());
  EXPECT_EQ(session.expires_at, s_.clock.wall() + kLifetime);
  ASSERT_TRUE(session.connection);
  EXPECT_EQ(session.connection->endpoint, "far.example");
  EXPECT_EQ(session.connection->port, 22);
  EXPECT_EQ(session.connection->username, "millrace");
  EXPECT_EQ(session.connection->host_pattern, "pattern");
  EXPECT_EQ(session.connection->host_ca, "ca");
  EXPECT_TRUE(session.connection->certificate.starts_with("serial 1 from "));
  EXPECT_EQ(created(id).serial, 2);
  EXPECT_FALSE(has_act(id));
}

TEST_F(SshSessionRows, OneOfASandboxIsReadyWhileTheWorkerThatListensLives) {
  const base::Uuid id = awake(MachineDriver::kSandbox);
  listen(id, s_.incarnation);
  const SshSession session = created(id);
  EXPECT_EQ(session.status, SshStatus::kReady);
  EXPECT_EQ(session.connection->port, 2201);
  listen(id, base::Uuid::make(s_.clock.wall()));
  EXPECT_EQ(created(id).status, SshStatus::kWaking);
  EXPECT_TRUE(has_act(id)) << "its sshd must be started";
}

TEST_F(SshSessionRows, IssuingOneIsAUseOfItsMachine) {
  const base::Uuid id = awake(MachineDriver::kSsh);
  s_.clock.advance(1h);
  const SshSession session = created(id);
  std::int64_t used_at = 0;
  ASSERT_TRUE(write(s_.store(), [&used_at, id](Tx& tx) {
    auto s = tx.db.prepare("SELECT used_at FROM machines WHERE id = ?1");
    used_at = s.bind(id).step() ? s.integer(0) : 0;
    return base::Status{};
  }));
  EXPECT_EQ(used_at, base::millis(session.created_at));
}

TEST_F(SshSessionRows, OneOfAMachineThatSleepsWaitsAndWakesIt) {
  const base::Uuid id = asleep();
  const SshSession session = created(id);
  EXPECT_EQ(session.status, SshStatus::kWaking);
  EXPECT_FALSE(session.connection);
  EXPECT_FALSE(session.ready_at);
  EXPECT_TRUE(has_act(id));
  EXPECT_TRUE(acts().empty()) << "no certificate was issued";
}

TEST_F(SshSessionRows, AWaitingOneBecomesReadyWithItsMachineForItsWholeLifetime) {
  const base::Uuid id = asleep();
  const SshSession session = created(id);
  s_.clock.advance(5s);
  EXPECT_EQ(refreshed(session).status, SshStatus::kWaking);
  set_state(id, MachineState::kRunning, MachinePhase::kRunning);
  EXPECT_EQ(refreshed(session).status, SshStatus::kWaking);
  EXPECT_TRUE(has_act(id)) << "the machine is awake, but no worker listens for it";
  listen(id, s_.incarnation);
  const SshSession ready = refreshed(session);
  EXPECT_EQ(ready.status, SshStatus::kReady);
  EXPECT_EQ(ready.ready_at, session.created_at + 5s);
  EXPECT_EQ(ready.expires_at, session.created_at + 5s + kLifetime);
  EXPECT_EQ(seen(session).expires_at, ready.expires_at);
  const std::string signed_from = "from " + std::to_string(base::millis(*ready.ready_at));
  EXPECT_NE(ready.connection->certificate.find(signed_from), std::string::npos);
  const SshSession again = refreshed(session);
  EXPECT_EQ(again.connection->certificate, ready.connection->certificate);
  EXPECT_EQ(acts(), (std::vector<std::string>{"ssh.issue"})) << "the certificate is issued once";
}

TEST_F(SshSessionRows, OneThatHasWaitedTooLongIsNeverIssued) {
  const base::Uuid id = asleep();
  const SshSession session = created(id);
  s_.clock.advance(kLifetime);
  set_state(id, MachineState::kRunning, MachinePhase::kRunning);
  listen(id, s_.incarnation);
  EXPECT_FALSE(refreshed(session).connection);
  EXPECT_TRUE(acts().empty());
}

TEST_F(SshSessionRows, ThoseThatWaitFailWithTheirMachine) {
  const base::Uuid id = asleep(), other = asleep();
  const SshSession waiting = created(id), elsewhere = created(other);
  ASSERT_TRUE(write(s_.store(), [id](Tx& tx) {
    fail_waiting_sessions(tx, id, {Code::kMachineWakeFailed, "it did not answer"});
    return base::Status{};
  }));
  EXPECT_EQ(seen(waiting).status, SshStatus::kFailed);
  EXPECT_EQ(seen(waiting).error, (schemas::JobError{Code::kMachineWakeFailed, "it did not answer"}));
  EXPECT_EQ(seen(elsewhere).status, SshStatus::kWaking);
  EXPECT_EQ(refreshed(waiting).status, SshStatus::kFailed);
}

TEST_F(SshSessionRows, AMachineThatIsNotThereHasNone) {
  const base::Uuid id = awake(MachineDriver::kSsh), fresh = base::Uuid::make(s_.clock.wall());
  EXPECT_EQ(create(fresh, fresh, call()).error().code, Code::kNotFound);
  EXPECT_EQ(create(id, fresh, call("other")).error().code, Code::kNotFound);
  set_state(id, MachineState::kDestroyed, MachinePhase::kDestroying);
  EXPECT_EQ(create(id, fresh, call()).error().code, Code::kInvalidState);
  EXPECT_TRUE(sessions_.list(kTenant, id, 9, {})->empty());
}

TEST_F(SshSessionRows, AnothersIsNotThere) {
  const SshSession session = created(awake(MachineDriver::kSsh));
  const base::Uuid elsewhere = awake(MachineDriver::kSsh);
  EXPECT_EQ(sessions_.session("other", session.machine, session.id).error().code, Code::kNotFound);
  EXPECT_EQ(sessions_.session(kTenant, elsewhere, session.id).error().code, Code::kNotFound);
  EXPECT_EQ(close(session, call("other")).error().code, Code::kNotFound);
  EXPECT_TRUE(sessions_.list("other", session.machine, 9, {})->empty());
  EXPECT_EQ(seen(session).status, SshStatus::kReady);
}

TEST_F(SshSessionRows, AListIsNewestFirstAndContinuesBelowAnId) {
  const base::Uuid id = awake(MachineDriver::kSsh);
  const SshSession a = created(id), b = created(id), c = created(id);
  const auto ids = [&](int limit, std::optional<base::Uuid> before) {
    std::vector<base::Uuid> found;
    const auto page = sessions_.list(kTenant, id, limit, before).value();
    for (const SshSession& each : page) found.push_back(each.id);
    return found;
  };
  EXPECT_EQ(ids(9, {}), (std::vector{c.id, b.id, a.id}));
  EXPECT_EQ(ids(1, c.id), std::vector{b.id});
  EXPECT_TRUE(ids(0, {}).empty());
}

TEST_F(SshSessionRows, ACallThatIsRepeatedWithItsKeyIsGivenItsFirstReply) {
  const base::Uuid id = awake(MachineDriver::kSsh);
  IdempotentCall by = call();
  by.key = IdempotencyKey{"POST", "/v1/machines/m/ssh", "k", {}};
  EXPECT_FALSE(create(id, base::Uuid::make(s_.clock.wall()), by)->replayed);
  const CallReply again = create(id, base::Uuid::make(s_.clock.wall()), by).value();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.body, "ready");
  EXPECT_EQ(sessions_.list(kTenant, id, 9, {})->size(), 1u);
  by.key->fingerprint[0] = 1;
  EXPECT_EQ(create(id, base::Uuid::make(s_.clock.wall()), by).error().code, Code::kIdempotencyReused);
}

}  // namespace
}  // namespace millrace::storage::testing
