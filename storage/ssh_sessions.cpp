#include "storage/ssh_sessions.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "platform/base/base64.h"
#include "platform/base/crypto.h"
#include "schemas/json_text.h"
#include "schemas/machine_lifecycle.h"
#include "storage/audit_rows.h"
#include "storage/call_replies.h"
#include "storage/machine_table.h"
#include "storage/machine_waiting.h"
#include "storage/readers.h"
#include "storage/session_rows.h"
#include "storage/sqlite.h"

namespace millrace::storage {
namespace {

using schemas::Machine;
using schemas::SshSession;
using schemas::SshStatus;

constexpr std::size_t kSessionRowBytes = 4096;  // with its certificate

base::Error no_such_session() { return base::error(base::Code::kNotFound, "no such SSH session"); }

bool can_be_entered(Db& db, const Machine& machine) {
  if (!schemas::is_awake(machine.desired, machine.phase)) return false;
  switch (machine.driver) {
    case schemas::MachineDriver::kSandbox:
      return machine.ssh && endpoint_lives(db, machine);
    case schemas::MachineDriver::kSsh:
      return true;
  }
  return false;
}

// Sees to the machine's next act towards being entered.
void call_up(Tx& tx, const Store::Options& options, Machine& machine, const schemas::JobId& act) {
  if (schemas::is_awake(machine.desired, machine.phase)) return want_ssh(tx, options, machine, act);
  want_awake(tx, options, machine, act);
}

// What the second word of the line stands for; empty: there is none.
std::string key_blob(std::string_view line) {
  constexpr std::string_view kSpace = " \t";
  const std::size_t end = std::min(line.find_first_of(kSpace), line.size());
  const std::size_t begin = std::min(line.find_first_not_of(kSpace, end), line.size());
  line.remove_prefix(begin);
  return base::base64_decode(line.substr(0, line.find_first_of(kSpace))).value_or("");
}

void audit_issue(Tx& tx, const SshSession& session, const std::string& actor) {
  append_audit(tx, {.tenant = session.tenant,
                    .actor = actor,
                    .act = "ssh.issue",
                    .target = schemas::ssh_session_id(session.id),
                    .data = schemas::JsonObject()
                                .member("machine", schemas::machine_id(session.machine))
                                .number("serial", session.serial)
                                .member("fingerprint", base::ssh_fingerprint(key_blob(session.public_key)))
                                .member("username", session.connection->username)
                                .member("expires_at", base::rfc3339(session.expires_at))
                                .finish()});
}

// Waiting → ready, with a certificate for its whole lifetime from now.
void grant(const Tx& tx, SshSession& session, const Machine& machine, const SshSessions::Issue& issue) {
  const auto lifetime = session.expires_at - session.created_at;
  session.status = SshStatus::kReady;
  session.ready_at = tx.now;
  session.expires_at = tx.now + lifetime;
  session.connection = issue(session, machine);
}

// The machine does not fall asleep before somebody has come.
void note_issue(Tx& tx, const SshSession& session, const std::string& actor) {
  note_frequent_use(tx, session.machine);
  audit_issue(tx, session, actor);
}

void make_ready(Tx& tx, SshSession& session, const Machine& machine, const std::string& actor,
                const SshSessions::Issue& issue) {
  grant(tx, session, machine, issue);
  const schemas::SshConnection& c = *session.connection;
  auto s = tx.db.prepare(
      "UPDATE ssh_sessions SET status = 1, ready_at = ?2, expires_at = ?3, certificate = ?4, endpoint = ?5, "
      "port = ?6, username = ?7, host_pattern = ?8, host_ca = ?9 WHERE serial = ?1 AND status = 0");
  s.bind(session.serial, base::millis(tx.now), base::millis(session.expires_at), c.certificate, c.endpoint,
         c.port, c.username, c.host_pattern, c.host_ca)
      .run();
  expect_one_change(s, "make an SSH session ready");
  note_issue(tx, session, actor);
}

base::Result<Answer> create_in(Tx& tx, const Store::Options& options, const SshSessions::Wish& wish,
                               const MachineCall& call, const SshSessions::Issue& issue,
                               const SshSessions::Reply& reply) {
  if (const auto before = reply_before(tx, call)) return *before;
  auto machine = find_machine(tx.db, call.tenant, wish.machine);
  if (!machine) return no_such_machine();
  if (machine->desired == schemas::MachineState::kDestroyed) return being_destroyed();
  SshSession session = new_session(tx, call.tenant, wish);
  const bool at_once = can_be_entered(tx.db, *machine);
  if (at_once) grant(tx, session, *machine, issue);
  insert_session(tx, session);
  if (at_once) {
    note_issue(tx, session, call.actor);
  } else {
    call_up(tx, options, *machine, call.act);
  }
  return keep_reply(tx, call, reply(session));
}

base::Result<SshSession> refresh_in(Tx& tx, const Store::Options& options, const SessionPlace& place,
                                    const std::string& actor, const SshSessions::Issue& issue) {
  auto session = find_session(tx.db, place);
  if (!session) return no_such_session();
  if (session->status != SshStatus::kWaking || session->expires_at <= tx.now) return *std::move(session);
  auto machine = find_machine(tx.db, place.tenant, place.machine);
  if (!machine || machine->desired == schemas::MachineState::kDestroyed) return *std::move(session);
  if (can_be_entered(tx.db, *machine)) {
    make_ready(tx, *session, *machine, actor, issue);
  } else {
    call_up(tx, options, *machine, {schemas::Kind::kMachine, base::Uuid::make(tx.now)});
  }
  return *std::move(session);
}

void audit_close(Tx& tx, const SshSession& session, const std::string& actor) {
  append_audit(tx, {.tenant = session.tenant,
                    .actor = actor,
                    .act = "ssh.close",
                    .target = schemas::ssh_session_id(session.id),
                    .data = schemas::JsonObject()
                                .member("machine", schemas::machine_id(session.machine))
                                .number("serial", session.serial)
                                .finish()});
}

void close_open(Tx& tx, SshSession& session, const std::string& actor) {
  session.status = SshStatus::kClosed;
  session.closed_at = tx.now;
  auto s = tx.db.prepare(
      "UPDATE ssh_sessions SET status = 2, closed_at = ?2 WHERE serial = ?1 AND status IN (0, 1)");
  s.bind(session.serial, base::millis(tx.now)).run();
  expect_one_change(s, "close an SSH session");
  if (session.connection) tx.db.prepare("UPDATE ssh_closes SET count = count + 1").run();
  audit_close(tx, session, actor);
}

base::Result<Answer> close_in(Tx& tx, const SessionPlace& place, const MachineCall& call,
                              const SshSessions::Reply& reply) {
  if (const auto before = reply_before(tx, call)) return *before;
  auto session = find_session(tx.db, place);
  if (!session) return no_such_session();
  const bool open = session->status == SshStatus::kWaking || session->status == SshStatus::kReady;
  if (open && session->expires_at > tx.now) close_open(tx, *session, call.actor);
  return keep_reply(tx, call, reply(*session));
}

// How far a host's clock may be behind ours: a closed certificate stays in the list for that long after its
// end.
constexpr std::chrono::seconds kClockSkew{60};

SshSessions::Revoked revoked_at(Db& db, base::WallTime now) {
  SshSessions::Revoked out;
  auto closes = db.prepare("SELECT count FROM ssh_closes");
  if (closes.step()) out.version = closes.integer(0);
  auto s = db.prepare(
      "SELECT serial FROM ssh_sessions INDEXED BY ssh_sessions_revoked WHERE status = 2 "
      "AND certificate IS NOT NULL AND expires_at > ?1 ORDER BY serial");
  s.bind(base::millis(now - kClockSkew));
  while (s.step()) out.serials.push_back(s.integer(0));
  return out;
}

}  // namespace

void SshSessions::create(Wish wish, MachineCall call, Issue issue, Reply reply, Done<Answer> done) {
  const std::size_t bytes = kSessionRowBytes + wish.public_key.size();
  submit_move<Answer>(
      store_.writer(), Writer::Priority::kNormal, bytes,
      [wish = std::move(wish), call = std::move(call), issue = std::move(issue), reply = std::move(reply),
       &options = store_.options()](Tx& tx) { return create_in(tx, options, wish, call, issue, reply); },
      std::move(done));
}

void SshSessions::refresh(std::string tenant, base::Uuid machine, base::Uuid id, std::string actor,
                          Issue issue, Done<SshSession> done) {
  submit_move<SshSession>(
      store_.writer(), Writer::Priority::kNormal, kSessionRowBytes,
      [place = SessionPlace{std::move(tenant), machine, id}, actor = std::move(actor),
       issue = std::move(issue),
       &options = store_.options()](Tx& tx) { return refresh_in(tx, options, place, actor, issue); },
      std::move(done));
}

void SshSessions::close(base::Uuid machine, base::Uuid id, MachineCall call, Reply reply, Done<Answer> done) {
  SessionPlace place{call.tenant, machine, id};
  submit_move<Answer>(
      store_.writer(), Writer::Priority::kAsked, kSessionRowBytes,
      [place = std::move(place), call = std::move(call), reply = std::move(reply)](Tx& tx) {
        return close_in(tx, place, call, reply);
      },
      std::move(done));
}

base::Result<SshSession> SshSessions::session(const std::string& tenant, const base::Uuid& machine,
                                              const base::Uuid& id) {
  auto found = read(store_.readers(), [&](Db& db) { return find_session(db, {tenant, machine, id}); });
  if (!found) return found.error();
  if (!*found) return no_such_session();
  return std::move(**found);
}

base::Result<std::vector<SshSession>> SshSessions::list(const std::string& tenant, const base::Uuid& machine,
                                                        int limit, std::optional<base::Uuid> before) {
  std::vector<SshSession> items;
  if (limit <= 0) return items;
  auto status = store_.readers().read([&](Db& db) {
    for (const base::Uuid& id : session_ids(db, tenant, machine, limit, before)) {
      if (auto session = find_session(db, {tenant, machine, id})) items.push_back(std::move(*session));
    }
  });
  if (!status) return status.error();
  return items;
}

base::Result<SshSessions::Revoked> SshSessions::revoked() {
  return read(store_.readers(), [&](Db& db) { return revoked_at(db, store_.clock().wall()); });
}

}  // namespace millrace::storage
