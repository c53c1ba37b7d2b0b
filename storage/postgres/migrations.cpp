#include "storage/postgres/migrations.h"

#include <string>

#include "platform/base/log.h"
#include "storage/workers/processes.h"

namespace millrace::storage {

int schema_version(Db& db) {
  auto table = db.prepare("SELECT to_regclass('schema_version') IS NOT NULL");
  table.step();
  if (table.integer(0) == 0) return 0;
  auto row = db.prepare("SELECT version FROM schema_version");
  return row.step() ? static_cast<int>(row.integer(0)) : 0;
}

namespace {

std::string other_tables(Db& db) {
  auto s = db.prepare(
      "SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace LIMIT 1");
  return s.step() ? s.text(0) : std::string();
}

base::Error refused(std::string why) {
  return base::error(base::Code::kInternal, "store.url: " + std::move(why));
}

// The first schema in which processes report themselves.
constexpr int kProcessesSchema = 29;

// A living process, which works on the present schema. Empty: there is none.
std::string living_process(Db& db) {
  auto s = db.prepare(R"(
      SELECT host, version FROM processes
      WHERE seen_boot > (extract(epoch FROM clock_timestamp()) * 1000)::bigint
          - (SELECT offset_ms FROM clock) - ?1 LIMIT 1)");
  s.bind(kProcessTimeout.count());
  return s.step() ? s.text(0) + " (version " + s.text(1) + ")" : std::string();
}

base::Status apply(PostgresDb& db, std::span<const Migration> steps) {
  const int found = schema_version(db);
  if (found > steps.back().number)
    return refused("the schema has version " + std::to_string(found) + ", this millrace knows version " +
                   std::to_string(steps.back().number) + "; use a newer millrace");
  if (found >= kProcessesSchema && found < steps.back().number) {
    if (const std::string other = living_process(db); !other.empty())
      return refused("the schema must change from version " + std::to_string(found) + " to " +
                     std::to_string(steps.back().number) + ", but a process of the older one runs on " +
                     other + "; stop all of them first, or wait 20 s after one was killed");
  }
  if (found == 0) {
    if (const std::string other = other_tables(db); !other.empty())
      return refused("the schema has a table of another program (" + other +
                     "); give Millrace a database or a schema of its own");
    db.script("CREATE TABLE schema_version (version bigint NOT NULL)");
    db.script("INSERT INTO schema_version VALUES (0)");
  }
  for (const Migration& step : steps) {
    if (step.number <= found) continue;
    base::log_info("store_migrating", {{"step", std::string(step.name)}});
    db.script(step.sql);
    db.prepare("UPDATE schema_version SET version = ?1").bind(step.number).run();
  }
  return {};
}

}  // namespace

base::Status migrate_postgres(PostgresDb& db, std::span<const Migration> steps) {
  db.begin_write();
  try {
    if (auto applied = apply(db, steps); !applied) {
      db.roll_back();
      return applied;
    }
    db.commit();
  } catch (...) {
    db.roll_back();
    throw;
  }
  return {};
}

}  // namespace millrace::storage
