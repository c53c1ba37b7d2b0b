#include "storage/backup/store_copy.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "platform/base/crypto.h"
#include "storage/blobs/blob_files.h"
#include "storage/data_dir.h"
#include "storage/postgres/database.h"
#include "storage/postgres/migrations.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/errors.h"
#include "storage/sqlite/migrations.h"
#include "storage/store.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kCopiedTogether = 50;         // rows of an INSERT
constexpr std::size_t kCommittedBytes = 16u << 20;  // of rows in a transaction in SQLite
constexpr int kFetchedTogether = 500;               // rows that PostgreSQL sends at once

constexpr std::string_view kDraft = "copy-";  // begins the name of a folder in the data directory

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

// The tables that both schemas have, and sqlite_sequence.
std::vector<Table> tables_of(SqliteDb& db) {
  std::vector<Table> tables;
  auto names = db.compile(R"(
      SELECT t.name, c.name, c.type FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
      WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'
          AND t.name NOT IN ('processes', 'leases') ORDER BY t.name, c.cid)");
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

  // Returns the row's size in bytes.
  std::size_t add(const Row& row) {
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
    return text.size();
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
  std::size_t uncommitted = 0;
  read_all(from, table, [&](const Row& row) {
    uncommitted += source.add(row);
    inserter.add(row);
    if (!commit_often || uncommitted < kCommittedBytes) return;
    uncommitted = 0;
    inserter.flush();
    to.commit();
    to.begin_write();
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
                                                 bool commit_often, const StoreCopySteps& steps) {
  std::vector<TableCopy> all;
  for (const Table& table : tables) {
    to.script("DELETE FROM " + table.name);  // the rows of an empty store
    auto done = copy_table(from, to, table, commit_often);
    if (!done) return done.error();
    if (steps.copied) steps.copied(*done);
    all.push_back(std::move(*done));
  }
  return all;
}

template <class Source>
Fingerprint fingerprint_of(Source& db, const Table& table) {
  Fingerprint all;
  read_all(db, table, [&all](const Row& row) { all.add(row); });
  return all;
}

// The tables of a copy that an interrupted process has completed; empty: these are two different stores.
// REQUIRES: a transaction is open.
std::vector<TableCopy> compare_tables(SqliteDb& sqlite, PostgresDb& postgres,
                                      const std::vector<Table>& tables) {
  std::vector<TableCopy> all;
  if (identity_of(sqlite) != identity_of(postgres)) return all;
  for (const Table& table : tables) {
    const Fingerprint source = fingerprint_of(sqlite, table);
    if (source != fingerprint_of(postgres, table)) return {};
    all.push_back({table.name, source.rows});
  }
  return all;
}

std::vector<BlobRef> blobs_of(Db& db) {
  std::vector<BlobRef> all;
  auto s = db.prepare("SELECT lower(hex(sha256)), path, bytes FROM blobs ORDER BY id");
  while (s.step()) all.push_back({s.text(0), s.text(1), s.integer(2)});
  return all;
}

base::Status copy_blobs_of(Db& db, const StoreCopySteps& steps) {
  return steps.copy_blobs ? steps.copy_blobs(blobs_of(db)) : base::Status();
}

// Columns that PostgreSQL numbers by itself continue after the copied rows.
void continue_numbers(PostgresDb& db) {
  for (const char* table : {"job_specs", "job_results", "job_parts", "blobs"}) {
    const std::string name(table);
    db.script("SELECT setval(pg_get_serial_sequence('" + name +
              "', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM " + name + "), false)");
  }
}

// A table that has more rows than an empty store; empty: none.
std::string table_with_rows(PostgresDb& db, const std::vector<Table>& tables) {
  for (const Table& table : tables) {
    auto s = db.compile("SELECT count(*) FROM " + table.name);
    s->step();
    const bool has_one_row = table.name == "access_version" || table.name == "ssh_closes" ||
                             table.name == "meta" || table.name == "clock" || table.name == "identity" ||
                             table.name == "webhook_state";
    if (s->integer(0) > (has_one_row ? 1 : 0)) return table.name;
  }
  return {};
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

// An existing `to` is refused. The log and its index need not be there.
base::Status rename_database(const std::string& from, const std::string& to) {
  std::error_code failed;
  if (std::filesystem::exists(to, failed) || failed) return copy_refused(to + " exists already");
  for (const char* end : {"-wal", "-shm", ""}) {
    std::filesystem::rename(from + end, to + end, failed);
    const bool is_missing = failed == std::errc::no_such_file_or_directory && *end != '\0';
    if (failed && !is_missing)
      return copy_refused("the rows were copied, but " + from + end +
                          " cannot be renamed: " + failed.message());
  }
  return sync_folder(std::filesystem::path(to).parent_path().string());
}

// The copied rows may take longer to read and write than a stopped process may hold the lock.
void allow_pauses(PostgresDb& db) { db.script("SET idle_in_transaction_session_timeout = 0"); }

base::Error has_rows_already(const std::string& table) {
  return copy_refused("the PostgreSQL database has rows already, in the table " + table);
}

// Refuses a target that is in use or that has the rows of another store, before the blobs are copied.
base::Status prepare_target(SqliteDb& from, PostgresDb& to) {
  if (has_other_clients(to)) return copy_refused("a gateway uses the PostgreSQL database; stop it first");
  if (auto migrated = migrate_postgres(to, postgres_migrations()); !migrated) return migrated.error();
  const std::string full = table_with_rows(to, tables_of(from));
  if (full.empty() || identity_of(from) == identity_of(to)) return {};
  return has_rows_already(full);
}

base::Result<std::vector<TableCopy>> copy_rows(SqliteDb& from, PostgresDb& to, const StoreCopySteps& steps) {
  if (has_other_clients(to)) return copy_refused("a gateway uses the PostgreSQL database; stop it first");
  allow_pauses(to);
  to.begin_write();
  const std::vector<Table> tables = tables_of(from);
  if (const std::string full = table_with_rows(to, tables); !full.empty()) {
    auto present = compare_tables(from, to, tables);
    to.roll_back();
    if (present.empty()) return has_rows_already(full);
    return present;
  }
  auto done = copy_tables(from, to, tables, false, steps);
  if (!done) {
    to.roll_back();
    return done;
  }
  continue_numbers(to);
  to.commit();
  return done;
}

// Two connections: the server may close the first one while blobs are copied.
base::Result<std::vector<TableCopy>> copy_to(SqliteDb& from, const std::string& url,
                                             const StoreCopySteps& steps) {
  {
    PostgresDb to(url);
    if (auto prepared = prepare_target(from, to); !prepared) return prepared.error();
  }
  if (auto copied = copy_blobs_of(from, steps); !copied) return copied.error();
  PostgresDb to(url);
  return copy_rows(from, to, steps);
}

// Drafts of processes that were killed. REQUIRES: close_data_dir.
void remove_drafts(const std::string& data_dir) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(data_dir, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kDraft) && entry.is_directory(ignored))
      std::filesystem::remove_all(entry.path(), ignored);
  }
}

// A folder of its own in the data directory, so that an interrupted copy is not taken for a store. The
// destructor removes it.
class Draft {
 public:
  explicit Draft(const std::string& data_dir)
      : dir_(data_dir + "/" + std::string(kDraft) + base::hex(base::random_bytes(4))) {}
  ~Draft() {
    std::error_code ignored;
    std::filesystem::remove_all(dir_.root, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  base::Status create() {
    if (auto made = open_data_dir(dir_.root); !made) return made.error();
    auto lock = LockFile::open(dir_.locks + "/schema.lock");
    if (!lock) return lock.error();
    SchemaLock schema(std::move(*lock));
    if (auto made = migrate(dir_.database, schema, migrations(), {std::chrono::seconds(1), 0}); !made)
      return made.error();
    return {};
  }
  const std::string& database() const { return dir_.database; }

 private:
  const DataDir dir_;
};

bool has_other_store(const DataDir& dir, PostgresDb& from) {
  std::error_code unreadable;
  if (!std::filesystem::exists(dir.database, unreadable)) return false;
  SqliteDb present({.path = dir.database, .mode = SqliteDb::Mode::kReader});
  return identity_of(present) != identity_of(from);
}

// REQUIRES: a transaction of `from` is open, so that no gateway writes meanwhile.
base::Result<std::vector<TableCopy>> copy_back(PostgresDb& from, const DataDir& dir,
                                               const StoreCopySteps& steps) {
  remove_drafts(dir.root);
  Draft draft(dir.root);
  if (auto made = draft.create(); !made) return made.error();
  auto done = [&] {
    SqliteDb to({.path = draft.database()});
    to.begin_write();
    auto all = copy_tables(from, to, tables_of(to), true, steps);
    all ? to.commit() : to.roll_back();
    return all;
  }();
  if (!done) return done;
  if (auto renamed = rename_database(draft.database(), dir.database); !renamed) return renamed.error();
  return done;
}

base::Result<std::vector<TableCopy>> copy_from(PostgresDb& from, const DataDir& dir,
                                               const StoreCopySteps& steps) {
  if (has_other_clients(from)) return copy_refused("a gateway uses the PostgreSQL database; stop it first");
  if (schema_version(from) != postgres_migrations().back().number)
    return copy_refused("the schema of the PostgreSQL database is not the one of this millrace");
  allow_pauses(from);
  from.begin_write();
  std::error_code unreadable;
  auto done = [&]() -> base::Result<std::vector<TableCopy>> {
    if (!std::filesystem::exists(dir.database, unreadable) && !unreadable) return copy_back(from, dir, steps);
    SqliteDb present({.path = dir.database, .mode = SqliteDb::Mode::kReader});
    auto same = compare_tables(present, from, tables_of(present));
    if (same.empty()) return copy_refused(dir.database + " exists already");
    return same;
  }();
  if (!done) {
    from.roll_back();
    return done;
  }
  from.script("INSERT INTO meta VALUES ('moved_to_sqlite', 1)");
  from.commit();
  return done;
}

}  // namespace

base::Result<std::vector<TableCopy>> copy_to_postgres(const std::string& data_dir, const std::string& url,
                                                      const StoreCopySteps& steps) try {
  const DataDir dir(data_dir);
  if (auto due = bring_up_to_date(data_dir); !due) return due.error();
  auto lock = close_data_dir(dir);
  if (!lock) return lock.error();
  std::error_code unreadable;
  if (std::filesystem::exists(dir.database + kMovedSuffix, unreadable))
    return copy_refused(dir.database + kMovedSuffix +
                        " is there from an earlier copy; remove it, or keep it elsewhere");
  auto done = [&] {
    SqliteDb from({.path = dir.database});
    return copy_to(from, url, steps);
  }();
  if (!done) return done;
  if (auto moved = rename_database(dir.database, dir.database + kMovedSuffix); !moved) return moved.error();
  return done;
} catch (const DbError& e) {
  return copy_refused(e.message);
}

base::Result<std::vector<TableCopy>> copy_from_postgres(const std::string& url, const std::string& data_dir,
                                                        const StoreCopySteps& steps) try {
  const DataDir dir(data_dir);
  auto lock = close_data_dir(dir);
  if (!lock) return lock.error();
  if (steps.copy_blobs) {
    PostgresDb source(url);
    if (has_other_store(dir, source)) return copy_refused(dir.database + " exists already");
    if (has_other_clients(source))
      return copy_refused("a gateway uses the PostgreSQL database; stop it first");
    if (auto copied = copy_blobs_of(source, steps); !copied) return copied.error();
  }
  PostgresDb from(url);
  return copy_from(from, dir, steps);
} catch (const DbError& e) {
  return copy_refused(e.message);
}

}  // namespace millrace::storage
