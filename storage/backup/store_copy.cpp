#include "storage/backup/store_copy.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "platform/base/crypto.h"
#include "storage/data_dir.h"
#include "storage/postgres/database.h"
#include "storage/postgres/migrations.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/errors.h"
#include "storage/sqlite/migrations.h"
#include "storage/store.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kCopiedTogether = 50;          // rows of an INSERT
constexpr std::int64_t kCommittedTogether = 10'000;  // rows of a transaction in SQLite
constexpr int kFetchedTogether = 500;                // rows that PostgreSQL sends at once

enum class ColumnType { kInteger, kReal, kText, kBlob };

struct Column {
  std::string name;
  ColumnType type;
};

struct Table {
  std::string name;
  std::vector<Column> columns;

  std::string column_names() const {
    std::string names;
    for (const Column& each : columns) names += (names.empty() ? "" : ", ") + each.name;
    return names;
  }
};

using Value = std::variant<std::monostate, std::int64_t, double, std::string>;
using Row = std::vector<Value>;
using TakeRow = std::function<void(const Row&)>;

base::Error copy_refused(const std::string& why) {
  return base::error(base::Code::kInternal, "the store is not copied: " + why);
}

// The tables that both schemas have. sqlite_sequence is not listed in SQLite's schema as ours, but its rows
// count.
std::vector<Table> tables_of(SqliteDb& db) {
  std::vector<Table> tables;
  auto names = db.compile(R"(
      SELECT t.name, c.name, c.type FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
      WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY t.name, c.cid)");
  while (names->step()) {
    const std::string table(names->bytes(0));
    if (tables.empty() || tables.back().name != table) tables.push_back({table, {}});
    const std::string_view type = names->bytes(2);
    tables.back().columns.push_back({std::string(names->bytes(1)), type == "INTEGER" ? ColumnType::kInteger
                                                                   : type == "REAL"  ? ColumnType::kReal
                                                                   : type == "TEXT"  ? ColumnType::kText
                                                                                     : ColumnType::kBlob});
  }
  tables.push_back({"sqlite_sequence", {{"name", ColumnType::kText}, {"seq", ColumnType::kInteger}}});
  return tables;
}

Row row_at(const PreparedStatement& s, const Table& table) {
  Row row;
  for (int i = 0; i < static_cast<int>(table.columns.size()); ++i) {
    if (s.is_null(i)) {
      row.emplace_back();
      continue;
    }
    switch (table.columns[static_cast<std::size_t>(i)].type) {
      case ColumnType::kInteger:
        row.emplace_back(s.integer(i));
        break;
      case ColumnType::kReal:
        row.emplace_back(s.real(i));
        break;
      case ColumnType::kText:
        row.emplace_back(postgres_text(s.bytes(i)));
        break;
      case ColumnType::kBlob:
        row.emplace_back(std::string(s.bytes(i)));
        break;
    }
  }
  return row;
}

void read_all(SqliteDb& db, const Table& table, const TakeRow& take) {
  auto s = db.compile("SELECT " + table.column_names() + " FROM " + table.name);
  while (s->step()) take(row_at(*s, table));
}

// REQUIRES: a transaction is open.
void read_all(PostgresDb& db, const Table& table, const TakeRow& take) {
  db.script("DECLARE copied CURSOR FOR SELECT " + table.column_names() + " FROM " + table.name);
  auto s = db.compile("FETCH " + std::to_string(kFetchedTogether) + " FROM copied");
  for (bool is_over = false; !is_over; s->reset()) {
    is_over = true;
    for (; s->step(); is_over = false) take(row_at(*s, table));
  }
  db.script("CLOSE copied");
}

// The number of rows and a sum of their hashes, which does not depend on their order.
struct Fingerprint {
  std::int64_t rows = 0;
  std::uint64_t hashes = 0;

  void add(const Row& row) {
    std::string text;
    for (const Value& each : row) {
      text += static_cast<char>('0' + each.index());
      if (const auto* integer = std::get_if<std::int64_t>(&each)) text += std::to_string(*integer);
      if (const auto* real = std::get_if<double>(&each)) text += std::to_string(*real);
      if (const auto* bytes = std::get_if<std::string>(&each))
        text += std::to_string(bytes->size()) + ":" + *bytes;
    }
    ++rows;
    hashes += XXH3_64bits(text.data(), text.size());
  }
  bool operator==(const Fingerprint&) const = default;
};

// Inserts rows, many with one statement.
class Inserter {
 public:
  Inserter(Db& db, const Table& table) : db_(db), table_(table) {}

  void add(Row row) {
    rows_.push_back(std::move(row));
    if (rows_.size() == kCopiedTogether) flush();
  }
  void flush() {
    if (rows_.empty()) return;
    auto& statement = rows_.size() == kCopiedTogether ? full_ : rest_;
    if (!statement || &statement == &rest_) statement = db_.compile(text());
    int parameter = 0;
    for (const Row& row : rows_)
      for (std::size_t i = 0; i < row.size(); ++i)
        bind(*statement, ++parameter, row[i], table_.columns[i].type);
    statement->step();
    statement->reset();
    rows_.clear();
  }

 private:
  static void bind(PreparedStatement& s, int parameter, const Value& value, ColumnType type) {
    if (std::holds_alternative<std::monostate>(value)) return s.bind(parameter, nullptr);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return s.bind(parameter, *integer);
    if (const auto* real = std::get_if<double>(&value)) return s.bind(parameter, *real);
    const std::string_view bytes = std::get<std::string>(value);
    type == ColumnType::kText ? s.bind(parameter, bytes) : s.bind(parameter, BlobView{bytes});
  }
  std::string text() const {
    std::string values = "(?";
    for (std::size_t i = 1; i < table_.columns.size(); ++i) values += ",?";
    values += ")";
    std::string all = values;
    for (std::size_t i = 1; i < rows_.size(); ++i) all += "," + values;
    return "INSERT INTO " + table_.name + " (" + table_.column_names() + ") VALUES " + all;
  }

  Db& db_;
  const Table& table_;
  std::vector<Row> rows_;
  std::unique_ptr<PreparedStatement> full_, rest_;
};

// `commit_often`: SQLite keeps a transaction in memory.
template <class From, class To>
base::Result<TableCopy> copy_table(From& from, To& to, const Table& table, bool commit_often) {
  Fingerprint source, target;
  Inserter inserter(to, table);
  read_all(from, table, [&](const Row& row) {
    source.add(row);
    inserter.add(row);
    if (commit_often && source.rows % kCommittedTogether == 0) {
      inserter.flush();
      to.commit();
      to.begin_write();
    }
  });
  inserter.flush();
  read_all(to, table, [&](const Row& row) { target.add(row); });
  if (source == target) return TableCopy{table.name, source.rows};
  return copy_refused("table " + table.name + " has " + std::to_string(source.rows) +
                      " rows in the source and " + std::to_string(target.rows) +
                      " in the copy, or they differ");
}

template <class From, class To>
base::Result<std::vector<TableCopy>> copy_tables(From& from, To& to, const std::vector<Table>& tables,
                                                 bool commit_often, const TableCopied& copied) {
  std::vector<TableCopy> all;
  for (const Table& table : tables) {
    to.script("DELETE FROM " + table.name);  // the rows of an empty store
    auto done = copy_table(from, to, table, commit_often);
    if (!done) return done.error();
    if (copied) copied(*done);
    all.push_back(std::move(*done));
  }
  return all;
}

// Columns that PostgreSQL numbers by itself continue after the copied rows.
void continue_numbers(PostgresDb& db) {
  for (const char* table : {"job_specs", "job_results", "job_parts", "blobs"}) {
    const std::string name(table);
    db.script("SELECT setval(pg_get_serial_sequence('" + name +
              "', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM " + name + "), false)");
  }
}

bool has_rows(Db& db) {
  auto s = db.prepare("SELECT EXISTS (SELECT 1 FROM jobs) OR EXISTS (SELECT 1 FROM api_keys)");
  return s.step() && s.integer(0) != 0;
}

bool has_other_clients(Db& db) {
  auto s = db.prepare(R"(
      SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
          AND application_name = 'millrace' AND pid <> pg_backend_pid()))");
  return s.step() && s.integer(0) != 0;
}

// Nobody has the data directory open while this is held. Returns with the schema at its newest version.
base::Result<SchemaLock> close_data_dir(const DataDir& dir) {
  auto file = LockFile::open(dir.locks + "/schema.lock");
  if (!file) return file.error();
  SchemaLock lock(std::move(*file));
  if (!lock.try_exclude()) return copy_refused(lock.holders() + " has " + dir.root + " open; stop it first");
  return lock;
}

base::Status bring_up_to_date(const std::string& data_dir) {
  const base::SystemClock clock;
  Store::Options options;
  options.data_dir = data_dir;
  options.continues_without_commits = false;
  auto store = Store::open(options, clock);
  return store ? base::Status() : base::Status(store.error());
}

void rename_database(const std::string& from, const std::string& to) {
  for (const char* end : {"-wal", "-shm", ""}) {
    std::error_code missing;
    std::filesystem::rename(from + end, to + end, missing);
  }
}

base::Result<std::vector<TableCopy>> copy_to(SqliteDb& from, PostgresDb& to, const TableCopied& copied) {
  if (auto migrated = migrate_postgres(to, postgres_migrations()); !migrated) return migrated.error();
  to.begin_write();
  auto done = has_rows(to) ? copy_refused("the PostgreSQL database has jobs or API keys already")
                           : copy_tables(from, to, tables_of(from), false, copied);
  if (!done) {
    to.roll_back();
    return done;
  }
  continue_numbers(to);
  to.commit();
  return done;
}

}  // namespace

base::Result<std::vector<TableCopy>> copy_to_postgres(const std::string& data_dir, const std::string& url,
                                                      const TableCopied& copied) try {
  const DataDir dir(data_dir);
  if (auto due = bring_up_to_date(data_dir); !due) return due.error();
  auto lock = close_data_dir(dir);
  if (!lock) return lock.error();
  auto done = [&] {
    SqliteDb from({.path = dir.database});
    PostgresDb to(url);
    return copy_to(from, to, copied);
  }();
  if (done) rename_database(dir.database, dir.database + ".moved");
  return done;
} catch (const DbError& e) {
  return copy_refused(e.message);
}

base::Result<std::vector<TableCopy>> copy_from_postgres(const std::string& url, const std::string& data_dir,
                                                        const TableCopied& copied) try {
  const DataDir dir(data_dir);
  if (std::filesystem::exists(dir.database)) return copy_refused(dir.database + " exists already");
  auto lock = close_data_dir(dir);
  if (!lock) return lock.error();
  PostgresDb from(url);
  if (has_other_clients(from)) return copy_refused("a gateway uses the PostgreSQL database; stop it first");
  if (schema_version(from) != postgres_migrations().back().number)
    return copy_refused("the schema of the PostgreSQL database is not the one of this millrace");
  // A folder of its own, so that an interrupted copy is not taken for a store.
  const DataDir draft(data_dir + "/copy-" + base::hex(base::random_bytes(4)));
  const std::unique_ptr<const std::string, void (*)(const std::string*)> cleanup(
      &draft.root, [](const std::string* folder) {
        std::error_code ignored;
        std::filesystem::remove_all(*folder, ignored);
      });
  if (auto made = open_data_dir(draft.root); !made) return made.error();
  auto draft_lock = LockFile::open(draft.locks + "/schema.lock");
  if (!draft_lock) return draft_lock.error();
  SchemaLock schema(std::move(*draft_lock));
  if (auto made = migrate(draft.database, schema, migrations(), {std::chrono::seconds(1), 0}); !made)
    return made.error();
  auto done = [&] {
    SqliteDb to({.path = draft.database});
    from.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    to.begin_write();
    auto all = copy_tables(from, to, tables_of(to), true, copied);
    all ? to.commit() : to.roll_back();
    from.end_read();
    return all;
  }();
  if (done) rename_database(draft.database, dir.database);
  return done;
} catch (const DbError& e) {
  return copy_refused(e.message);
}

}  // namespace millrace::storage
