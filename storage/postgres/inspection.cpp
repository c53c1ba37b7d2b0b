#include "storage/postgres/inspection.h"

#include <algorithm>

#include "platform/base/clock.h"
#include "storage/data_dir.h"
#include "storage/postgres/database.h"
#include "storage/postgres/migrations.h"

namespace millrace::storage {
namespace {

using std::chrono::milliseconds;

std::int64_t own_wall_ms() {
  return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The server's time is read between two readings of ours.
void read_server(Db& db, PostgresInspection& found) {
  auto s = db.prepare(R"(
      SELECT current_setting('server_version'), current_setting('synchronous_standby_names') <> '',
          (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
          coalesce((SELECT extract(epoch FROM max(clock_timestamp() - xact_start))::bigint
              FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()), 0),
          EXISTS (SELECT 1 FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum')),
          pg_has_role(current_user, 'pg_monitor', 'usage'))");
  const std::int64_t before = own_wall_ms();
  s.step();
  const std::int64_t own = (before + own_wall_ms()) / 2;
  found.server_version = s.text(0);
  found.has_synchronous_standby = s.integer(1) != 0;
  found.standby_is_connected = s.integer(4) != 0;  // a role without pg_monitor sees no sync_state
  found.may_monitor = s.integer(5) != 0;
  found.server_ahead = milliseconds(s.integer(2) - own);
  found.oldest_snapshot = std::chrono::seconds(s.integer(3));
}

void read_store(Db& db, PostgresInspection& found) {
  auto checks = db.prepare("SELECT name, value FROM secret_checks");
  while (checks.step()) found.secret_checks.emplace(checks.text(0), checks.text(1));
  found.has_keys = db.prepare("SELECT 1 FROM api_keys LIMIT 1").step();
  if (db.prepare("SELECT 1 FROM identity").step()) found.owner = postgres_owner(db);
  const std::int64_t server_now = own_wall_ms() + found.server_ahead.count();
  auto hosts = db.prepare(
      "SELECT host, max(seen_boot) + (SELECT offset_ms FROM clock) FROM processes GROUP BY host ORDER BY "
      "host");
  while (hosts.step()) {
    const milliseconds silent(std::max<std::int64_t>(0, server_now - hosts.integer(1)));
    found.hosts.push_back({.name = hosts.text(0), .silent = silent});
  }
}

}  // namespace

std::string postgres_owner(Db& db) {
  auto s = db.prepare(R"(
      SELECT (SELECT system_identifier FROM pg_control_system())::text || '-'
          || (SELECT oid FROM pg_database WHERE datname = current_database()))");
  s.step();
  return identity_of(db).str() + "." + s.text(0);
}

base::Result<PostgresInspection> inspect_postgres(const std::string& url) {
  try {
    PostgresDb db(url);
    PostgresInspection found;
    found.newest_schema = postgres_migrations().back().number;
    found.schema = schema_version(db);
    read_server(db, found);
    if (found.schema == found.newest_schema) read_store(db, found);
    return found;
  } catch (const DbError& e) {
    return base::error(base::Code::kInternal, "store.url: " + e.message);
  }
}

}  // namespace millrace::storage
