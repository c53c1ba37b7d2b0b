#include "storage/admin/inspection.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <poll.h>

#include "schemas/jobs/job.h"
#include "storage/admin/schema_check.h"
#include "storage/data_dir.h"
#include "storage/db/columns.h"
#include "storage/sql.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/errors.h"
#include "storage/sqlite/migrations.h"
#include "storage/writer/last_commit.h"
#include "storage/writer/lock_file.h"

namespace millrace::storage {
namespace {

constexpr int kRowsOfRead = 256;  // a read prevents a gateway from restarting its log
constexpr int kLockChecks = 40, kLockPauseMs = 50;

using schemas::JobId;

// The schema lock, if no process has the store open; while it is held no gateway starts. Absent: a process
// has the store open.
struct ExclusiveAccess {
  bool is_alone = true;
  std::optional<LockFile> lock;
};

base::Result<ExclusiveAccess> try_exclusive(const DataDir& dir) {
  auto lock = LockFile::open_existing(dir.locks + "/schema.lock");
  if (!lock && lock.error().code == base::Code::kNotFound) return ExclusiveAccess{};
  if (!lock) return lock.error();
  const bool is_alone = lock->try_lock(LockFile::Mode::kExclusive);
  return ExclusiveAccess{is_alone, std::move(*lock)};
}

// Active writers hold the lock for milliseconds only.
std::string stuck_lock(const DataDir& dir) {
  auto lock = LockFile::open_existing(dir.locks + "/write.lock");
  if (!lock) return {};
  for (int i = 0; i < kLockChecks; ++i) {
    if (lock->try_lock(LockFile::Mode::kShared)) return {};
    ::poll(nullptr, 0, kLockPauseMs);
  }
  const std::string holder = lock->visible_holders();
  return holder.empty() ? "an unknown process" : holder;
}

class Inspector {
 public:
  Inspector(SqliteDb& db, const DataDir& dir, BlobPlace blobs, StoreInspection& found)
      : db_(db), dir_(dir), blobs_(blobs), found_(found) {}

  base::Status run() {
    if (auto whole = check_structure(); !whole) return whole;
    found_.schema = static_cast<int>(number("PRAGMA user_version"));
    found_.newest_schema = static_cast<int>(migrations().size());
    if (found_.schema == 0) {
      const std::string lost = empty_database_error(dir_);
      if (!lost.empty()) return base::error(base::Code::kInternal, lost);
    }
    if (found_.schema < kIdentitySchema) return {};
    if (auto own = check_identity(db_, dir_, false); !own) return own;
    read_secret_checks();
    if (found_.schema > found_.newest_schema) return {};
    if (found_.schema == found_.newest_schema) {
      const std::string differs = schema_difference(db_);
      if (!differs.empty()) return malformed(differs);
    }
    check_jobs();
    check_parts();
    check_owners("artifact ", R"(
        SELECT o.id, o.blob IS NOT b.id
        FROM artifacts o LEFT JOIN blobs b ON b.id = o.blob
        WHERE o.id > ?1
        ORDER BY o.id LIMIT ?2)"_sql);
    check_owners("image ", R"(
        SELECT o.id, o.blob IS NOT b.id
        FROM image_files o LEFT JOIN blobs b ON b.id = o.blob
        WHERE o.id > ?1
        ORDER BY o.id LIMIT ?2)"_sql);
    check_owners("file ", R"(
        SELECT o.id, o.blob IS NOT b.id
        FROM files o LEFT JOIN blobs b ON b.id = o.blob
        WHERE o.id > ?1
        ORDER BY o.id LIMIT ?2)"_sql);
    check_owners("part of an upload ", R"(
        SELECT o.id, o.blob IS NOT b.id
        FROM upload_parts o LEFT JOIN blobs b ON b.id = o.blob
        WHERE o.id > ?1
        ORDER BY o.id LIMIT ?2)"_sql);
    if (blobs_ == BlobPlace::kDataDir) check_files();
    return {};
  }

 private:
  std::int64_t number(Sql sql) {
    auto s = db_.prepare(sql);
    return s.step() ? s.integer(0) : 0;
  }

  // Indexes are compared with their tables only if no gateway is open: that takes several times as long, in
  // one read transaction, which blocks checkpoints.
  base::Status check_structure() {
    auto s = found_.is_open ? db_.prepare("PRAGMA quick_check(1)") : db_.prepare("PRAGMA integrity_check(1)");
    const std::string result = s.step() ? s.text(0) : "no result";
    return result == "ok" ? base::Status() : malformed(result);
  }

  base::Status malformed(std::string why) const {
    std::ranges::replace(why, '\n', ' ');
    const bool is_index = why.find(" index ") != std::string::npos;
    return base::error(base::Code::kInternal,
                       dir_.database + " is malformed (" + why + "); " + std::string(kRestoreBackup) +
                           (is_index ? ", or stop the gateway and rebuild the indexes: `sqlite3 " +
                                           dir_.database + " REINDEX`"
                                     : ""));
  }

  // Older schemas have no such table.
  void read_secret_checks() {
    found_.has_keys = number("SELECT count(*) FROM api_keys") > 0;
    if (number("SELECT count(*) FROM sqlite_schema WHERE name = 'secret_checks'") == 0) return;
    auto s = db_.prepare("SELECT name, value FROM secret_checks");
    while (s.step()) found_.secret_checks.emplace(s.text(0), s.text(1));
  }

  // Checks the columns `bytes` and `hash` of a row.
  bool is_damaged(const Statement& row, int column) {
    const auto hash = row.optional_integer(column + 1);
    if (!hash) return false;
    ++found_.rows;
    return hash != inline_hash(row.blob(column), std::nullopt);
  }

  void report(std::string what) {
    if (found_.damage.size() < kDamageMax) found_.damage.push_back(std::move(what));
  }

  // `read` reads up to kRowsOfRead rows and returns how many there were.
  template <class Read>
  static void in_short_reads(const Read& read) {
    while (read() == kRowsOfRead) {
    }
  }

  void check_jobs() {
    base::Uuid last;
    in_short_reads([&] {
      int rows = 0;
      auto s = db_.prepare(R"(
          SELECT j.id, j.kind, coalesce(j.parent_id, j.id), s.bytes, s.hash, r.bytes, r.hash,
              j.spec IS NOT s.id OR s.blob IS NOT sb.id OR j.input IS NOT ib.id,
              j.result IS NOT r.id OR r.blob IS NOT rb.id
          FROM jobs j LEFT JOIN job_specs s ON s.id = j.spec LEFT JOIN job_results r ON
              r.id = j.result LEFT JOIN blobs sb ON sb.id = s.blob
              LEFT JOIN blobs rb ON rb.id = r.blob LEFT JOIN blobs ib ON ib.id = j.input
          WHERE j.id > ?1
          ORDER BY j.id LIMIT ?2)"_sql);
      s.bind(last, kRowsOfRead);
      for (; s.step(); ++rows) {
        last = s.uuid(0);
        const JobId job{static_cast<schemas::Kind>(s.integer(1)), s.uuid(2)};
        const bool has_lost_request = s.integer(7) != 0, has_lost_result = s.integer(8) != 0;
        if (is_damaged(s, 3) || has_lost_request) report("request of " + job.str());
        if (is_damaged(s, 5) || has_lost_result) report("result of " + job.str());
      }
      return rows;
    });
  }

  void check_parts() {
    base::Uuid root;
    std::int64_t index = -1;
    in_short_reads([&] {
      int rows = 0;
      auto s = db_.prepare(R"(
          SELECT p.root, p.part_index, p.bytes, p.hash, j.kind, p.blob IS NOT b.id
          FROM job_parts p JOIN jobs j ON j.id = p.root LEFT JOIN blobs b ON b.id = p.blob
          WHERE (p.root, p.part_index) > (?1, ?2)
          ORDER BY p.root, p.part_index LIMIT ?3)"_sql);
      s.bind(root, index, kRowsOfRead);
      for (; s.step(); ++rows) {
        root = s.uuid(0);
        index = s.integer(1);
        const JobId job{static_cast<schemas::Kind>(s.integer(4)), root};
        const bool has_lost_blob = s.integer(5) != 0;
        if (is_damaged(s, 2) || has_lost_blob) report("part " + std::to_string(index) + " of " + job.str());
      }
      return rows;
    });
  }

  // Rows that have only a file. `sql` reads their ids, and whether the row of the file is missing.
  void check_owners(const std::string& what, Sql sql) {
    base::Uuid last;
    in_short_reads([&] {
      int rows = 0;
      auto s = db_.prepare(sql);
      s.bind(last, kRowsOfRead);
      for (; s.step(); ++rows) {
        last = s.uuid(0);
        if (s.integer(1) != 0) report(what + last.str());
      }
      return rows;
    });
  }

  // A file that was removed meanwhile is not damage.
  void check_files() {
    std::vector<std::pair<std::int64_t, std::string>> mismatched;
    std::int64_t last = 0;
    in_short_reads([&] {
      int rows = 0;
      auto s = db_.prepare(R"(
              SELECT id, path, bytes FROM blobs
              WHERE id > ?1 AND refs > 0
              ORDER BY id LIMIT ?2)"_sql);
      s.bind(last, kRowsOfRead);
      for (; s.step(); ++rows) {
        last = s.integer(0);
        if (file_bytes(dir_.blobs + "/" + s.text(1)) != s.integer(2))
          mismatched.emplace_back(last, s.text(1));
      }
      return rows;
    });
    for (const auto& [id, path] : mismatched) {
      auto s = db_.prepare("SELECT 1 FROM blobs WHERE id = ?1 AND refs > 0");
      if (s.bind(id).step()) report("file blobs/" + path);
    }
  }

  SqliteDb& db_;
  const DataDir& dir_;
  const BlobPlace blobs_;
  StoreInspection& found_;
};

// As the next start would use it.
base::Status look(const DataDir& dir, BlobPlace blobs, StoreInspection& found, bool without_log) {
  using Mode = SqliteDb::Mode;
  const Mode mode = found.is_open ? Mode::kInspect
                    : without_log ? Mode::kInspectWithoutLog
                                  : Mode::kInspectExclusive;
  try {
    SqliteDb db({.path = dir.database, .mode = mode});
    return Inspector(db, dir, blobs, found).run();
  } catch (const DbError& e) {
    return cannot_open(dir.database, e);
  }
}

}  // namespace

base::Result<StoreInspection> inspect_store(const std::string& data_dir, BlobPlace blobs) {
  const DataDir dir(data_dir);
  if (const std::string lost = missing_database_error(dir); !lost.empty())
    return base::error(base::Code::kInternal, lost);
  auto alone = try_exclusive(dir);
  if (!alone) return alone.error();
  StoreInspection found;
  found.is_open = !alone->is_alone;
  found.database_bytes = file_bytes(dir.database);
  found.disk_free_bytes = free_bytes(data_dir);
  if (alone->is_alone) found.log_bytes = file_bytes(dir.database + "-wal");
  if (found.is_open) found.stuck_lock = stuck_lock(dir);
  found.noted_missing = missing_commits_noted(dir);
  std::optional<MissingCommits> missing;
  if (alone->is_alone) {
    auto compared = find_missing_commits(dir);
    if (!compared) return compared.error();
    missing = std::move(*compared);
  }
  if (missing && missing->commits > 0) found.missing_commits = describe(*missing);
  if (auto looked = look(dir, blobs, found, missing && missing->drops_log); !looked) {
    base::Error error = looked.error();
    if (!found.missing_commits.empty()) error.message = found.missing_commits + "; " + error.message;
    return error;
  }
  return found;
}

}  // namespace millrace::storage
