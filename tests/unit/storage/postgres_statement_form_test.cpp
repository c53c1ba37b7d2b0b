#include <array>

#include <gtest/gtest.h>

#include "storage/postgres/statement_form.h"

namespace millrace::storage::testing {
namespace {

using Kind = StatementForm::Kind;

TEST(PostgresStatementForm, AReadByKeyTouchesOnlyRowsWithThatKey) {
  EXPECT_EQ(form_of("SELECT a FROM jobs WHERE id = $1").key, "id");
  EXPECT_EQ(form_of("SELECT a FROM jobs WHERE id = $1 AND b = $2").key, "id");
  for (const char* other :
       {"SELECT a FROM jobs WHERE id = $1 OR b = 1", "SELECT a FROM jobs WHERE id = $10",
        "SELECT a FROM jobs WHERE a IN (SELECT b FROM t WHERE id = $1)", "SELECT a FROM jobs WHERE id > $1",
        "SELECT a FROM jobs JOIN t ON t.a = jobs.a WHERE id = $1", "SELECT a FROM jobs"})
    EXPECT_EQ(form_of(other).key, "") << other;
}

TEST(PostgresStatementForm, OnlyWritesWithoutAnAnswerAreDoneLater) {
  EXPECT_EQ(form_of("UPDATE jobs SET a = $2 WHERE id = $1").kind, Kind::kWrite);
  EXPECT_EQ(form_of("DELETE FROM outbox WHERE job = $1").kind, Kind::kWrite);
  EXPECT_EQ(form_of("INSERT INTO job_results (id, bytes) VALUES ($1, $2)").kind, Kind::kWrite);
  for (const char* now :
       {"INSERT INTO job_results (bytes) VALUES ($1)", "DELETE FROM jobs WHERE id = $1 RETURNING a",
        "INSERT INTO audit (a) VALUES ($1)", "UPDATE blobs SET refs = 0 WHERE id = $1"})
    EXPECT_EQ(form_of(now).kind, Kind::kOther) << now;
}

TEST(PostgresStatementForm, AWriteOfOneRowByItsKeyIsJoinable) {
  for (const char* joinable :
       {"UPDATE jobs SET a = $2 WHERE id = $1 AND b = 3", "DELETE FROM outbox WHERE job = $1",
        "INSERT INTO outbox (job, a) VALUES ($1, 0) ON CONFLICT (job) DO NOTHING"})
    EXPECT_TRUE(form_of(joinable).is_joinable) << joinable;
  for (const char* alone :
       {"UPDATE quota_usage SET owner = $2 WHERE owner = $1", "UPDATE jobs SET a = 1 WHERE b < $1",
        "UPDATE jobs SET a = 1 WHERE id = $1 AND EXISTS (SELECT 1 FROM jobs AS p WHERE p.a = 2)",
        "INSERT INTO outbox (job) VALUES ($1),($2)", "INSERT INTO outbox (job, a) VALUES ($1, abs($2))",
        "INSERT INTO outbox (job) VALUES ($1) ON CONFLICT (job) DO UPDATE SET a = $2",
        "INSERT INTO outbox (a, job) VALUES (0, $1)"})
    EXPECT_FALSE(form_of(alone).is_joinable) << alone;
}

TEST(PostgresStatementForm, ManyRowsComeFromArrays) {
  const std::array types = {kBytea, kInt8, 0U};
  EXPECT_EQ(multi_row_sql("UPDATE jobs SET a = $2, b = '$2', c = $3 WHERE id = $1 AND d = $2", types),
            "UPDATE jobs SET a = v.p2, b = '$2', c = NULL FROM (SELECT * FROM "
            "unnest($1::bytea[],$2::bigint[]) LIMIT $3) AS v(p1,p2) WHERE id = v.p1 AND d = v.p2");
  EXPECT_EQ(
      multi_row_sql("INSERT INTO outbox (job, a, b, c) VALUES ($1,$2,0,$3) ON CONFLICT DO NOTHING", types),
      "INSERT INTO outbox (job, a, b, c) SELECT v.p1,v.p2,0,NULL FROM (SELECT * FROM "
      "unnest($1::bytea[],$2::bigint[]) LIMIT $3) AS v(p1,p2) ON CONFLICT DO NOTHING");
  EXPECT_EQ(multi_row_sql("DELETE FROM outbox WHERE job = $1 AND a = $2", types),
            "DELETE FROM outbox USING (SELECT * FROM unnest($1::bytea[],$2::bigint[]) LIMIT $3) AS v(p1,p2) "
            "WHERE job = v.p1 AND a = v.p2");
}

TEST(PostgresStatementForm, ManyKeysAreReadAtOnce) {
  const char* read = "SELECT a, b FROM jobs WHERE id = $1";
  EXPECT_EQ(many_keys_sql(read, form_of(read)), "SELECT a, b, id FROM jobs WHERE id = ANY($1)");
}

}  // namespace
}  // namespace millrace::storage::testing
