#include "storage/machines/ssh_sessions.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "platform/base/base64.h"
#include "platform/base/crypto.h"
#include "schemas/access.h"
#include "schemas/json/json_text.h"
#include "schemas/machines/machine_lifecycle.h"
#include "storage/admin/audit.h"
#include "storage/db/columns.h"
#include "storage/db/db.h"
#include "storage/jobs/idempotency.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/machines/machine_rows.h"
#include "storage/machines/waiting_executions.h"
#include "storage/sql.h"
#include "storage/tenants/tenants.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

using schemas::SshSession;
using schemas::SshStatus;

}  // namespace

std::optional<SshSession> find_session(Db& db, const SessionPath& place) {
  auto s = db.prepare(R"(
      SELECT serial, status, public_key, created_at, expires_at, ready_at, closed_at, error_code,
          error_message, certificate, endpoint, port, username, host_pattern, host_ca
      FROM ssh_sessions
      WHERE id = ?1 AND machine = ?2 AND tenant = ?3)"_sql);
  if (!s.bind(place.id, place.machine, place.tenant).step()) return std::nullopt;
  SshSession out;
  out.id = place.id;
  out.tenant = place.tenant;
  out.machine = place.machine;
  out.serial = s.integer(0);
  out.status = static_cast<SshStatus>(s.integer(1));
  out.public_key = s.text(2);
  out.created_at = base::wall_from(s.integer(3));
  out.expires_at = base::wall_from(s.integer(4));
  out.ready_at = optional_time(s.optional_integer(5));
  out.closed_at = optional_time(s.optional_integer(6));
  if (const auto code = s.optional_text(7)) out.error = {base::code_named(*code), s.text(8)};
  if (auto certificate = s.optional_text(9)) {
    out.connection = schemas::SshConnection{.endpoint = s.text(10),
                                            .port = static_cast<int>(s.integer(11)),
                                            .username = s.text(12),
                                            .host_pattern = s.text(13),
                                            .host_ca = s.text(14),
                                            .certificate = std::move(*certificate)};
  }
  return out;
}

std::vector<base::Uuid> session_ids(Db& db, const std::string& tenant, const base::Uuid& machine, int limit,
                                    std::optional<base::Uuid> before) {
  const base::Uuid end = before.value_or(max_id());
  auto s = db.prepare(R"(
      SELECT id FROM ssh_sessions INDEXED BY ssh_sessions_listed
      WHERE machine = ?1 AND id < ?2 AND tenant = ?3
      ORDER BY id DESC LIMIT ?4)"_sql);
  s.bind(machine, end, tenant, limit);
  return ids(s);
}

SshSession new_session(Tx& tx, const std::string& tenant, const SshSessions::Request& request) {
  SshSession out;
  out.id = request.id;
  out.tenant = tenant;
  out.machine = request.machine;
  out.public_key = request.public_key;
  out.created_at = tx.now;
  out.expires_at = tx.now + request.lifetime;
  auto s = tx.db.prepare(R"(
          SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'ssh_sessions'), 0) + 1)"_sql);
  s.step();
  out.serial = s.integer(0);
  return out;
}

void insert_session(Tx& tx, const SshSession& session, std::string_view key_id) {
  std::optional<std::int64_t> ready_at;
  if (session.ready_at) ready_at = base::millis(*session.ready_at);
  auto s = tx.db.prepare(R"(
      INSERT INTO ssh_sessions (serial, id, tenant, machine, status, public_key, created_at,
          expires_at, ready_at, key_id, certificate, endpoint, port, username, host_pattern, host_ca)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16))"_sql);
  s.bind(session.serial, session.id, session.tenant, session.machine, session.status, session.public_key,
         base::millis(session.created_at), base::millis(session.expires_at), ready_at, null_if_empty(key_id));
  if (session.connection) {
    const schemas::SshConnection& c = *session.connection;
    s.bind(c.certificate, c.endpoint, c.port, c.username, c.host_pattern, c.host_ca);
  }
  s.run();
}

bool has_waiting_sessions(const Tx& tx, const base::Uuid& machine) {
  auto s = tx.db.prepare(R"(
      SELECT 1 FROM ssh_sessions
      WHERE machine = ?1 AND status = {ssh_waking} AND expires_at > ?2)"_sql);
  return s.bind(machine, base::millis(tx.now)).step();
}

void fail_waiting_sessions(Tx& tx, const base::Uuid& machine, const schemas::JobError& error) {
  tx.db
      .prepare(R"(
          UPDATE ssh_sessions SET status = {ssh_failed}, error_code = ?2, error_message = ?3
          WHERE machine = ?1 AND status = {ssh_waking} AND expires_at > ?4)"_sql)
      .bind(machine, base::name(error.code), error.message, base::millis(tx.now))
      .run();
}

namespace {

using schemas::Machine;
using schemas::SshSession;
using schemas::SshStatus;

constexpr std::size_t kSessionRowBytes = 4096;  // with its certificate

base::Error no_such_session() { return base::error(base::Code::kNotFound, "There is no such SSH session"); }

bool can_be_entered(Db& db, const Machine& machine) {
  if (!schemas::is_awake(machine.desired, machine.phase)) return false;
  switch (machine.driver) {
    case schemas::MachineDriver::kSandbox:
      return machine.ssh && has_live_endpoint(db, machine);
    case schemas::MachineDriver::kSsh:
      return true;
  }
  return false;
}

// Starts the machine's next operation towards being reachable.
void request_access(Tx& tx, const Store::Options& options, Machine& machine, const schemas::JobId& act) {
  if (schemas::is_awake(machine.desired, machine.phase)) return request_ssh(tx, options, machine, act);
  request_wake(tx, options, machine, act);
}

// Decodes the second field of a public key line; empty: there is none.
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

// Waiting → ready, with a certificate that is valid for the whole lifetime from now.
void grant(const Tx& tx, SshSession& session, const Machine& machine, const SshSessions::Issue& issue) {
  const auto lifetime = session.expires_at - session.created_at;
  session.status = SshStatus::kReady;
  session.ready_at = tx.now;
  session.expires_at = tx.now + lifetime;
  session.connection = issue(session, machine);
}

// Records the use of the machine, so that it is not put to sleep before the first login.
void note_issue(Tx& tx, const SshSession& session, const std::string& actor) {
  mark_machine_used_coarsely(tx, session.machine);
  audit_issue(tx, session, actor);
}

void make_ready(Tx& tx, SshSession& session, const Machine& machine, const std::string& actor,
                const SshSessions::Issue& issue) {
  grant(tx, session, machine, issue);
  const schemas::SshConnection& c = *session.connection;
  auto s = tx.db.prepare(R"(
      UPDATE ssh_sessions SET status = {ssh_ready}, ready_at = ?2, expires_at = ?3, certificate = ?4,
          endpoint = ?5, port = ?6, username = ?7, host_pattern = ?8, host_ca = ?9
      WHERE serial = ?1 AND status = {ssh_waking})"_sql);
  s.bind(session.serial, base::millis(tx.now), base::millis(session.expires_at), c.certificate, c.endpoint,
         c.port, c.username, c.host_pattern, c.host_ca)
      .run();
  expect_one_change(s, "make an SSH session ready");
  note_issue(tx, session, actor);
}

base::Result<CallReply> create_in(Tx& tx, const Store::Options& options, const SshSessions::Request& request,
                                  const IdempotentCall& call, const SshSessions::Issue& issue,
                                  const SshSessions::Reply& reply) {
  if (const auto before = find_stored_reply(tx, call)) return *before;
  auto machine = find_machine(tx.db, call.tenant, request.machine);
  if (!machine) return no_such_machine();
  if (machine->desired == schemas::MachineState::kDestroyed) return being_destroyed();
  if (auto refused = ssh_quota_refusal(tx, {call.tenant, call.actor})) return std::move(*refused);
  SshSession session = new_session(tx, call.tenant, request);
  const bool at_once = can_be_entered(tx.db, *machine);
  if (at_once) grant(tx, session, *machine, issue);
  insert_session(tx, session, call.actor);
  if (at_once) {
    note_issue(tx, session, call.actor);
  } else {
    request_access(tx, options, *machine, call.act);
  }
  return store_reply(tx, call, reply(session));
}

base::Result<SshSession> refresh_in(Tx& tx, const Store::Options& options, const SessionPath& place,
                                    const std::string& actor, const SshSessions::Issue& issue) {
  auto session = find_session(tx.db, place);
  if (!session) return no_such_session();
  if (session->status != SshStatus::kWaking || session->expires_at <= tx.now) return *std::move(session);
  auto machine = find_machine(tx.db, place.tenant, place.machine);
  if (!machine || machine->desired == schemas::MachineState::kDestroyed) return *std::move(session);
  if (can_be_entered(tx.db, *machine)) {
    make_ready(tx, *session, *machine, actor, issue);
  } else {
    request_access(tx, options, *machine, {schemas::Kind::kMachine, base::Uuid::make(tx.now)});
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
  auto s = tx.db.prepare(R"(
      UPDATE ssh_sessions SET status = {ssh_closed}, closed_at = ?2
      WHERE serial = ?1 AND status IN ({ssh_waking}, {ssh_ready}))"_sql);
  s.bind(session.serial, base::millis(tx.now)).run();
  expect_one_change(s, "close an SSH session");
  if (session.connection) tx.db.prepare("UPDATE ssh_closes SET count = count + 1").run();
  audit_close(tx, session, actor);
}

base::Result<CallReply> close_in(Tx& tx, const SessionPath& place, const IdempotentCall& call,
                                 const SshSessions::Reply& reply) {
  if (const auto before = find_stored_reply(tx, call)) return *before;
  auto session = find_session(tx.db, place);
  if (!session) return no_such_session();
  const bool open = session->status == SshStatus::kWaking || session->status == SshStatus::kReady;
  if (open && session->expires_at > tx.now) close_open(tx, *session, call.actor);
  return store_reply(tx, call, reply(*session));
}

// True if the API key was revoked, has expired or has lost the scope.
bool has_ended(Db& db, const std::string& key, base::WallTime now) {
  auto s = db.prepare(R"(
      SELECT 1 FROM api_keys
      WHERE id = ?1 AND (revoked_at IS NOT NULL OR expires_at <= ?2
          OR instr(' ' || scopes || ' ', ' ' || ?3 || ' ') = 0))"_sql);
  return s.bind(key, base::millis(now), schemas::name(schemas::Scope::kSshIssue)).step();
}

// The open sessions whose API key has ended.
std::vector<SessionPath> sessions_of_ended_keys(Db& db, base::WallTime now) {
  auto s = db.prepare(R"(
      SELECT s.tenant, s.machine, s.id
      FROM ssh_sessions AS s INDEXED BY ssh_sessions_old CROSS JOIN api_keys AS k ON k.id = s.key_id
      WHERE s.expires_at > ?1 AND s.status IN ({ssh_waking}, {ssh_ready})
          AND (k.revoked_at IS NOT NULL OR k.expires_at <= ?1
              OR instr(' ' || k.scopes || ' ', ' ' || ?2 || ' ') = 0))"_sql);
  s.bind(base::millis(now), schemas::name(schemas::Scope::kSshIssue));
  std::vector<SessionPath> found;
  while (s.step()) found.push_back({s.text(0), s.uuid(1), s.uuid(2)});
  return found;
}

int close_of_ended_keys_in(Tx& tx) {
  const auto places = sessions_of_ended_keys(tx.db, tx.now);
  for (const SessionPath& place : places) {
    if (auto session = find_session(tx.db, place)) close_open(tx, *session, "gateway");
  }
  return static_cast<int>(places.size());
}

std::string session_key(Db& db, std::int64_t serial) {
  auto s = db.prepare("SELECT coalesce(key_id, '') FROM ssh_sessions WHERE serial = ?1");
  return s.bind(serial).step() ? s.text(0) : std::string();
}

// How far a host's clock may be behind. A closed certificate stays in the list for this long after its end.
constexpr std::chrono::seconds kClockSkew{60};

SshSessions::Revoked revoked_at(Db& db, base::WallTime now) {
  SshSessions::Revoked out;
  auto closes = db.prepare("SELECT count FROM ssh_closes");
  if (closes.step()) out.version = closes.integer(0);
  auto s = db.prepare(R"(
      SELECT serial FROM ssh_sessions INDEXED BY ssh_sessions_revoked
      WHERE status = {ssh_closed} AND certificate IS NOT NULL AND expires_at > ?1
      ORDER BY serial)"_sql);
  s.bind(base::millis(now - kClockSkew));
  while (s.step()) out.serials.push_back(s.integer(0));
  return out;
}

}  // namespace

void SshSessions::create(Request request, IdempotentCall call, Issue issue, Reply reply,
                         Callback<CallReply> done) {
  const std::size_t bytes = kSessionRowBytes + request.public_key.size();
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kNormal, bytes,
      [request = std::move(request), call = std::move(call), issue = std::move(issue),
       reply = std::move(reply),
       &options = store_.options()](Tx& tx) { return create_in(tx, options, request, call, issue, reply); },
      std::move(done));
}

void SshSessions::refresh(std::string tenant, base::Uuid machine, base::Uuid id, std::string actor,
                          Issue issue, Callback<SshSession> done) {
  submit_write<SshSession>(
      store_.writer(), Writer::Priority::kNormal, kSessionRowBytes,
      [place = SessionPath{std::move(tenant), machine, id}, actor = std::move(actor),
       issue = std::move(issue),
       &options = store_.options()](Tx& tx) { return refresh_in(tx, options, place, actor, issue); },
      std::move(done));
}

void SshSessions::close(base::Uuid machine, base::Uuid id, IdempotentCall call, Reply reply,
                        Callback<CallReply> done) {
  SessionPath place{call.tenant, machine, id};
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kSessionRowBytes,
      [place = std::move(place), call = std::move(call), reply = std::move(reply)](Tx& tx) {
        return close_in(tx, place, call, reply);
      },
      std::move(done));
}

void SshSessions::close_of_ended_keys(Callback<int> done) {
  submit_write<int>(
      store_.writer(), Writer::Priority::kInteractive, kSessionRowBytes,
      [](Tx& tx) -> base::Result<int> { return close_of_ended_keys_in(tx); }, std::move(done));
}

base::Result<bool> SshSessions::has_any_of_ended_keys() {
  return read(store_.readers(),
              [&](Db& db) { return !sessions_of_ended_keys(db, store_.clock().wall()).empty(); });
}

base::Result<std::string> SshSessions::key_of(std::int64_t serial) {
  return read(store_.readers(), [&](Db& db) { return session_key(db, serial); });
}

base::Result<std::vector<std::string>> SshSessions::ended_keys(const std::vector<std::string>& keys) {
  return read(store_.readers(), [&](Db& db) {
    std::vector<std::string> ended;
    for (const std::string& key : keys) {
      if (has_ended(db, key, store_.clock().wall())) ended.push_back(key);
    }
    return ended;
  });
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

base::Result<std::int64_t> SshSessions::revocation_version() {
  return read(store_.readers(), [](Db& db) {
    auto s = db.prepare("SELECT count FROM ssh_closes");
    return s.step() ? s.integer(0) : 0;
  });
}

base::Result<SshSessions::Revoked> SshSessions::revoked() {
  return read(store_.readers(), [&](Db& db) { return revoked_at(db, store_.clock().wall()); });
}

namespace {

using schemas::SshListenerState;

SshListenerState listener_state_in(Db& db, const base::Uuid& id, const base::Uuid& worker) {
  const auto machine = find_machine(db, {}, id);
  if (!machine || machine->phase != schemas::MachinePhase::kRunning) return SshListenerState::kOver;
  if (machine->ssh && machine->ssh->owner == worker) return SshListenerState::kActive;
  return has_live_endpoint(db, *machine) ? SshListenerState::kOver : SshListenerState::kNotYet;
}

}  // namespace

base::Result<SshListenerState> ssh_listener_state(Store& store, const base::Uuid& machine,
                                                  const base::Uuid& worker) {
  SshListenerState state = SshListenerState::kNotYet;
  if (auto read = store.readers().read([&](Db& db) { state = listener_state_in(db, machine, worker); });
      !read) {
    return std::move(read.error());
  }
  return state;
}

}  // namespace millrace::storage
