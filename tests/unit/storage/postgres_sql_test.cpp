#include <gtest/gtest.h>

#include "storage/postgres/translate.h"

namespace millrace::storage::testing {
namespace {

TEST(PostgresSql, NumberedParametersKeepTheirNumbers) {
  EXPECT_EQ(postgres_sql("SELECT a FROM t WHERE b = ?2 AND c = ?1 OR d = ?10"),
            "SELECT a FROM t WHERE b = $2 AND c = $1 OR d = $10");
}

TEST(PostgresSql, ParametersWithoutANumberCountOn) {
  EXPECT_EQ(postgres_sql("INSERT INTO t (a, b) VALUES (?,0),(?,NULL)"),
            "INSERT INTO t (a, b) VALUES ($1,0),($2,NULL)");
}

TEST(PostgresSql, HintsForSqliteAreLeftOut) {
  EXPECT_EQ(
      postgres_sql("SELECT id FROM jobs INDEXED BY jobs_ready WHERE id IN (SELECT id FROM a INDEXED BY b)"),
      "SELECT id FROM jobs WHERE id IN (SELECT id FROM a)");
  EXPECT_EQ(postgres_sql("SELECT 1 FROM s AS s INDEXED BY x CROSS JOIN t AS t ON t.a = s.a"),
            "SELECT 1 FROM s AS s JOIN t AS t ON t.a = s.a");
  EXPECT_EQ(postgres_sql("INSERT OR ROLLBACK INTO t (a) VALUES (?)"), "INSERT INTO t (a) VALUES ($1)");
}

TEST(PostgresSql, TextInQuotesStaysAsItIs) {
  EXPECT_EQ(postgres_sql("SELECT '? INDEXED BY x', ?1, 'it''s ?2', ' CROSS JOIN '"),
            "SELECT '? INDEXED BY x', $1, 'it''s ?2', ' CROSS JOIN '");
}

}  // namespace
}  // namespace millrace::storage::testing
