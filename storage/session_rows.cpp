#include "storage/session_rows.h"

#include <utility>

#include "storage/columns.h"
#include "storage/upkeep_steps.h"

namespace millrace::storage {
namespace {

using schemas::SshSession;
using schemas::SshStatus;

}  // namespace

std::optional<SshSession> find_session(Db& db, const SessionPlace& place) {
  auto s = db.prepare(
      "SELECT serial, status, public_key, created_at, expires_at, ready_at, closed_at, error_code, "
      "error_message, certificate, endpoint, port, username, host_pattern, host_ca FROM ssh_sessions "
      "WHERE id = ?1 AND machine = ?2 AND tenant = ?3");
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
  out.ready_at = time_of(s.optional_integer(5));
  out.closed_at = time_of(s.optional_integer(6));
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
  auto s = db.prepare(
      "SELECT id FROM ssh_sessions INDEXED BY ssh_sessions_listed WHERE machine = ?1 "
      "AND id < coalesce(?2, x'ffffffffffffffffffffffffffffffff') AND tenant = ?3 ORDER BY id DESC LIMIT ?4");
  s.bind(machine, before, tenant, limit);
  return ids(s);
}

SshSession new_session(Tx& tx, const std::string& tenant, const SshSessions::Wish& wish) {
  SshSession out;
  out.id = wish.id;
  out.tenant = tenant;
  out.machine = wish.machine;
  out.public_key = wish.public_key;
  out.created_at = tx.now;
  out.expires_at = tx.now + wish.lifetime;
  auto s =
      tx.db.prepare("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'ssh_sessions'), 0) + 1");
  s.step();
  out.serial = s.integer(0);
  return out;
}

void insert_session(Tx& tx, const SshSession& session) {
  std::optional<std::int64_t> ready_at;
  if (session.ready_at) ready_at = base::millis(*session.ready_at);
  auto s = tx.db.prepare(
      "INSERT INTO ssh_sessions (serial, id, tenant, machine, status, public_key, created_at, expires_at, "
      "ready_at, certificate, endpoint, port, username, host_pattern, host_ca) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)");
  s.bind(session.serial, session.id, session.tenant, session.machine, session.status, session.public_key,
         base::millis(session.created_at), base::millis(session.expires_at), ready_at);
  if (session.connection) {
    const schemas::SshConnection& c = *session.connection;
    s.bind(c.certificate, c.endpoint, c.port, c.username, c.host_pattern, c.host_ca);
  }
  s.run();
}

bool has_waiting_sessions(const Tx& tx, const base::Uuid& machine) {
  auto s = tx.db.prepare("SELECT 1 FROM ssh_sessions WHERE machine = ?1 AND status = 0 AND expires_at > ?2");
  return s.bind(machine, base::millis(tx.now)).step();
}

void fail_waiting_sessions(Tx& tx, const base::Uuid& machine, const schemas::JobError& error) {
  tx.db
      .prepare(
          "UPDATE ssh_sessions SET status = 3, error_code = ?2, error_message = ?3 "
          "WHERE machine = ?1 AND status = 0 AND expires_at > ?4")
      .bind(machine, base::name(error.code), error.message, base::millis(tx.now))
      .run();
}

}  // namespace millrace::storage
