#include "storage/admin/schema_check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include <sqlite3.h>

#include "storage/sqlite/migrations.h"

namespace millrace::storage {
namespace {

// From "index jobs_ready" to its SQL.
using Schema = std::map<std::string, std::string>;

// Versions of SQLite differ in how ALTER TABLE writes names and blanks, versions of millrace in comments.
std::string compared_text(std::string_view sql) {
  std::string text;
  bool in_string = false;
  for (std::size_t at = 0; at < sql.size(); ++at) {
    const char c = sql[at];
    if (c == '\'') in_string = !in_string;
    if (!in_string && sql.substr(at).starts_with("--")) {
      at = std::min(sql.find('\n', at), sql.size());
      continue;
    }
    if (c != '"' && c != ' ' && c != '\n') text += c;
  }
  return text;
}

int add_row(void* schema, int, char** columns, char**) {
  static_cast<Schema*>(schema)->emplace(std::string(columns[0]) + " " + columns[1],
                                        compared_text(columns[2]));
  return 0;
}

Schema schema_of(sqlite3* db) {
  Schema schema;
  const int code = sqlite3_exec(db, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL",
                                add_row, &schema, nullptr);
  if (code != SQLITE_OK) throw sqlite_error(code, sqlite3_errmsg(db));
  return schema;
}

Schema expected_schema() {
  sqlite3* handle = nullptr;
  const int opened = sqlite3_open(":memory:", &handle);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> db(handle, sqlite3_close);
  if (opened != SQLITE_OK) throw sqlite_error(opened, "no memory");
  for (const Migration& step : migrations()) {
    const int code = sqlite3_exec(db.get(), std::string(step.sql).c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) throw sqlite_error(code, sqlite3_errmsg(db.get()));
  }
  return schema_of(db.get());
}

}  // namespace

std::string schema_difference(SqliteDb& db) {
  const Schema found = schema_of(db.handle());
  for (const auto& [name, sql] : expected_schema()) {
    const auto own = found.find(name);
    if (own == found.end()) return name + " is missing";
    if (own->second != sql) return name + " is not the one that millrace has made";
  }
  return {};
}

}  // namespace millrace::storage
