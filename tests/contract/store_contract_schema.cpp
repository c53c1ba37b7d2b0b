#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "platform/base/clock.h"
#include "storage/postgres/database.h"
#include "storage/postgres/migrations.h"
#include "storage/sqlite/database.h"
#include "storage/workers/processes.h"
#include "tests/contract/postgres_server.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/storage/job_store.h"

// The schemas of both engines are the same: a migration of one needs the same one of the other.
namespace millrace::storage::testing {
namespace {

using Rows = std::set<std::string>;

Rows rows(Db& db, Sql sql) {
  Rows found;
  auto s = db.prepare(sql);
  while (s.step()) found.insert(s.text(0));
  return found;
}

// "table.column type NOT NULL DEFAULT 0 key 1", in SQLite's words.
Rows sqlite_columns(Db& db) {
  return rows(db, R"(
      SELECT t.name || '.' || c.name || ' ' || c.type || CASE WHEN c."notnull" OR c.pk THEN ' NOT NULL' ELSE '' END
          || coalesce(' DEFAULT ' || c.dflt_value, '') || CASE WHEN c.pk > 0 THEN ' key ' || c.pk ELSE '' END
      FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
      WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%')");
}

Rows postgres_columns(Db& db) {
  return rows(db, R"(
      SELECT t.relname || '.' || c.attname || ' ' || CASE format_type(c.atttypid, NULL)
              WHEN 'bigint' THEN 'INTEGER' WHEN 'bytea' THEN 'BLOB' WHEN 'text' THEN 'TEXT'
              WHEN 'double precision' THEN 'REAL' ELSE format_type(c.atttypid, NULL) END
          || CASE WHEN c.attnotnull THEN ' NOT NULL' ELSE '' END
          || coalesce(' DEFAULT ' || replace(replace(pg_get_expr(d.adbin, d.adrelid), '::text', ''), '::bigint', ''), '')
          || coalesce(' key ' || array_position(k.conkey, c.attnum), '')
      FROM pg_class AS t JOIN pg_attribute AS c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped
          LEFT JOIN pg_attrdef AS d ON d.adrelid = t.oid AND d.adnum = c.attnum
          LEFT JOIN pg_constraint AS k ON k.conrelid = t.oid AND k.contype = 'p' AND c.attnum = ANY (k.conkey)
      WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind = 'r'
          AND t.relname NOT IN ('ready_again', 'writers', 'schema_version', 'sqlite_sequence'))");
}

TEST(StoreSchema, BothEnginesHaveTheSameTablesColumnsAndIndexes) {
  const support::TempDir dir;
  const base::ManualClock clock;
  Store::Options options;
  options.data_dir = dir.str() + "/data";
  options.disk_free_min_bytes = 0;
  ASSERT_TRUE(Store::open(options, clock).has_value());
  SqliteDb sqlite({.path = options.data_dir + "/millrace.db"});
  options.data_dir = dir.str() + "/other";
  ASSERT_TRUE(open_postgres(options, clock).has_value());
  PostgresDb postgres(schema_url(options.data_dir));
  EXPECT_GT(sqlite_columns(sqlite).size(), 150U);
  EXPECT_EQ(postgres_columns(postgres), sqlite_columns(sqlite));
  EXPECT_EQ(rows(postgres, R"(
                SELECT i.relname::text FROM pg_class AS i JOIN pg_index AS x ON x.indexrelid = i.oid
                WHERE i.relnamespace = current_schema()::regnamespace
                    AND NOT EXISTS (SELECT 1 FROM pg_constraint AS c WHERE c.conindid = i.oid)
                    AND i.relname <> 'jobs_leases')"),
            rows(sqlite, "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"));
}

// The next version of the schema, as a newer program has it.
Migration next_step() {
  return {postgres_migrations().back().number + 1, "next", "CREATE TABLE next (id bigint PRIMARY KEY)"};
}

TEST(StoreSchema, ANewerProgramChangesItOnlyWhenNoProcessOfTheOlderOneLives) {
  const support::TempDir dir;
  const base::SystemClock clock;
  Store::Options options;
  options.data_dir = dir.str() + "/data";
  options.disk_free_min_bytes = 0;
  options.url = schema_url(options.data_dir);
  auto store = Store::open(options, clock);
  ASSERT_TRUE(store);
  const base::Uuid id = base::Uuid::make(clock.wall());
  const Process own{.id = id, .host = "alpha", .data_dir = id, .version = "1.2.3"};
  ASSERT_TRUE(
      await<Installation>([&](auto done) { Processes(**store).report(own, std::move(done)); }).has_value());
  std::vector<Migration> steps(postgres_migrations().begin(), postgres_migrations().end());
  steps.push_back(next_step());
  PostgresDb newer(schema_url(options.data_dir));
  const base::Status refused = migrate_postgres(newer, steps);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("alpha (version 1.2.3)"), std::string::npos)
      << refused.error().message;
  ASSERT_TRUE(await<bool>([&](auto done) { Processes(**store).leave(own.id, std::move(done)); }).has_value());
  EXPECT_TRUE(migrate_postgres(newer, steps));
  EXPECT_EQ(schema_version(newer), steps.back().number);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(await<bool>([&](auto done) { Processes(**store).leave(own.id, std::move(done)); }),
              ::testing::ExitedWithCode(1), "another version of millrace has changed the schema")
      << "any write of a process of the older one that was silent meanwhile";
  EXPECT_FALSE(Store::open(options, clock)) << "the older program refuses the newer schema";
}

}  // namespace
}  // namespace millrace::storage::testing
