#include "storage/store.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/stat.h>

#include "storage/blobs/blob_files.h"
#include "storage/data_dir.h"
#include "storage/postgres/store.h"
#include "storage/sqlite/checkpointer.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/errors.h"
#include "storage/sqlite/file_write_gate.h"
#include "storage/sqlite/migrations.h"
#include "storage/sqlite/sync_failure.h"
#include "storage/writer/group_writer.h"
#include "storage/writer/health.h"
#include "storage/writer/last_commit.h"
#include "storage/writer/reader_pool.h"

namespace millrace::storage {
namespace {

// Everything that must be opened, in the order of dependency.
struct OpenResources {
  DataDir dir;
  SchemaLock schema;
  std::unique_ptr<FailureFlag> failure;
  std::unique_ptr<LastCommit> last_commit;
  std::unique_ptr<FairWriteLock> write_lock;
  std::unique_ptr<Blobs> blobs;
  std::unique_ptr<Checkpointer> checkpointer;
};

base::Error still_failing(const DataDir& dir, const SchemaLock& schema, const FailureFlag& failure) {
  return base::error(base::Code::kInternal, dir.database + ": a sync failed (" + failure.reason() +
                                                "), and " + schema.holders() +
                                                " still has the store open; end it and start again");
}

// The files of a store that are used before SQLite opens the database.
struct BeforeSqlite {
  const DataDir& dir;
  SchemaLock& schema;
  FailureFlag& failure;
  LastCommit& last_commit;
};

// The first process of a store reads the files from the disk, not from the page cache, and looks for missing
// commits. If a sync failed, the other processes are ending, and this function waits for them. Returns with
// `schema` not held.
base::Status prepare_if_first(const BeforeSqlite& files, const Store::Options& options, base::WallTime now) {
  const auto& [dir, schema, failure, last_commit] = files;
  const auto end = std::chrono::steady_clock::now() + options.schema_wait;
  while (!schema.try_exclude()) {
    if (!failure.is_set()) return {};
    if (std::chrono::steady_clock::now() >= end) return still_failing(dir, schema, failure);
    sleep_before_retry();
  }
  for (const std::string& file : {dir.database, dir.database + "-wal"}) {
    if (auto dropped = drop_cached_pages(file); !dropped) return dropped;
  }
  if (auto done = report_and_set_aside(dir, last_commit, now, options.continues_without_commits); !done)
    return done;
  failure.clear();
  schema.release();
  return {};
}

// If the log is empty, the database has everything: a log that is missing at a later start is then a loss
// only if nothing has written the database since.
void note_empty_log(const DataDir& dir, LastCommit& last_commit, base::WallTime now) {
  const CommitPosition none{.at_ms = base::millis(now)};
  const CommitPosition last = last_commit.last().value_or(none);  // before the look at the log
  if (file_bytes(dir.database + "-wal") == 0)
    last_commit.record_copied(last, last.frames, true, dir.database);
}

// Returns the name of the store (sqlite_owner), with `schema` shared. Starts again if a sync fails meanwhile
// in another process.
base::Result<std::string> prepare_schema(const BeforeSqlite& files, const Store::Options& options,
                                         base::WallTime now) {
  const auto& [dir, schema, failure, last_commit] = files;
  const MigrationBounds bounds{options.schema_wait, options.disk_free_min_bytes};
  while (true) {
    if (auto begun = prepare_if_first(files, options, now); !begun) return begun.error();
    if (auto due = migrate(dir.database, schema, migrations(), bounds); !due) return due.error();
    if (!failure.is_set()) break;
    schema.release();
  }
  base::Status own;
  std::string owner;
  {
    SqliteDb db({.path = dir.database});  // if it is the only one, its end copies the log
    own = check_identity(db, dir, true);
    owner = sqlite_owner(db);
  }
  note_empty_log(dir, last_commit, now);
  if (!own) return own.error();
  return owner;
}

base::Result<OpenResources> open_resources(const Store::Options& options, base::WallTime now) {
  auto dir = open_data_dir(options.data_dir);
  if (!dir) return dir.error();
  if (const std::string lost = missing_database_error(*dir); !lost.empty())
    return base::error(base::Code::kInternal, lost);
  auto file = LockFile::open(dir->locks + "/schema.lock");
  if (!file) return file.error();
  SchemaLock schema(std::move(*file));
  auto failure = FailureFlag::open(dir->locks, dir->database);
  if (!failure) return failure.error();
  auto last_commit = std::make_unique<LastCommit>(dir->locks);
  const auto owner = prepare_schema({*dir, schema, **failure, *last_commit}, options, now);
  if (!owner) return owner.error();
  auto write_lock = FairWriteLock::open(dir->locks);
  if (!write_lock) return write_lock.error();
  auto blobs = options.open_blobs(dir->blobs, options.disk_free_min_bytes);
  if (!blobs) return blobs.error();
  if (auto claimed = (*blobs)->claim(*owner); !claimed) return claimed.error();
  auto checkpointer = Checkpointer::open({.database = dir->database,
                                          .locks = dir->locks,
                                          .wal_max_bytes = options.wal_max_bytes,
                                          .interval = options.checkpoint_interval},
                                         *last_commit);
  if (!checkpointer) return checkpointer.error();
  // Also syncs the log's directory entry: SQLite creates the log when the store is opened and ignores whether
  // the folder's sync succeeded.
  if (auto synced = sync_folder(dir->root); !synced) return synced.error();
  return OpenResources{std::move(*dir),         std::move(schema),      std::move(*failure),
                       std::move(last_commit),  std::move(*write_lock), std::move(*blobs),
                       std::move(*checkpointer)};
}

GroupWriter::Options writer_options(const Store::Options& options) {
  return {.queue_max = options.queue_max,
          .limits = {.bounds = {options.group_operations_max, options.group_payload_bytes_max},
                     .wait_max = options.group_wait_max},
          .quota_defaults = options.quota_defaults};
}

std::vector<std::unique_ptr<Db>> reader_connections(const std::string& database, int count) {
  std::vector<std::unique_ptr<Db>> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    all.push_back(
        std::make_unique<SqliteDb>(SqliteDb::Options{.path = database, .mode = SqliteDb::Mode::kReader}));
  return all;
}

// Members are shut down in reverse order of declaration.
class FileStore final : public Store {
 public:
  FileStore(Options options, const base::Clock& clock, OpenResources resources)
      : options_(std::move(options)),
        clock_(clock),
        resources_(std::move(resources)),
        readers_(reader_connections(resources_.dir.database, options_.readers)),
        db_({.path = resources_.dir.database}),
        gate_(resources_.dir.database, db_,
              {*resources_.write_lock, *resources_.failure, *resources_.last_commit}, clock_,
              [this](int log_frames) { resources_.checkpointer->committed(log_frames); }),
        writer_(writer_options(options_), clock_, db_, gate_, health_),
        watch_(std::make_unique<StoreMonitor>(
            StoreMonitor::Options{.folder = resources_.dir.root,
                                  .log = resources_.dir.database + "-wal",
                                  .disk_free_min_bytes = options_.disk_free_min_bytes,
                                  .stuck_after = options_.stuck_lock_after},
            *resources_.write_lock, *resources_.failure, health_,
            [this](const std::string& why) { writer_.withdraw(why); },
            [this] {
              if (writer_.depth() == 0) writer_.try_write();  // otherwise others show it
            })) {}
  ~FileStore() override { close(); }

  Writer& writer() override { return writer_; }
  Readers& readers() override { return readers_; }
  Blobs& blobs() override { return *resources_.blobs; }
  const base::Clock& clock() const override { return clock_; }
  const Options& options() const override { return options_; }
  void on_commit(std::function<void(const Commit&)> hook) override { writer_.on_commit(std::move(hook)); }
  void set_completion_scope(std::function<std::shared_ptr<void>()> scope) override {
    writer_.set_completion_scope(std::move(scope));
  }
  int share_completions() override { return writer_.dispatcher().share(); }
  void run_shared_completions() override { writer_.dispatcher().run_shared(); }
  void stop_sharing_completions() override { writer_.dispatcher().stop_sharing(); }
  bool completions_are_due() const override { return writer_.has_large_group_pending(); }
  void on_group(GroupObserver watch) override { writer_.on_group(std::move(watch)); }
  Health health() const override { return health_.health(); }
  Stats stats() const override;
  void close() override;

 private:
  const Options options_;
  const base::Clock& clock_;
  HealthState health_;
  OpenResources resources_;
  ReaderPool readers_;
  SqliteDb db_;
  FileWriteGate gate_;
  GroupWriter writer_;
  std::unique_ptr<StoreMonitor> watch_;
};

Store::Stats FileStore::stats() const {
  const GroupWriter::Counts writes = writer_.counts();
  Stats stats;
  stats.groups_total = writes.groups;
  stats.operations_total = writes.operations;
  stats.failed_groups_total = writes.failed_groups;
  stats.commit_seconds_max = writes.commit_seconds_max;
  stats.db_bytes = file_bytes(resources_.dir.database);
  stats.wal_bytes = file_bytes(resources_.dir.database + "-wal");
  stats.disk_free_bytes = free_bytes(resources_.dir.root);
  stats.queue_depth = writer_.depth();
  const Checkpointer::Counts checkpoints = resources_.checkpointer->counts();
  stats.checkpoints_total = checkpoints.checkpoints;
  stats.wal_restarts_total = checkpoints.restarts;
  stats.commits_missing = missing_commits_noted(resources_.dir);
  return stats;
}

void FileStore::close() {
  writer_.close(health_.degraded() ? std::chrono::milliseconds(0) : GroupWriter::kCloseTimeout);
  resources_.checkpointer->stop();
  watch_.reset();
  readers_.close();
}

}  // namespace

base::Result<std::unique_ptr<Store>> Store::open(Options options, const base::Clock& clock) {
  const std::string& secrets = options.secrets_dir;
  if (!secrets.empty() && secrets != options.data_dir && ::mkdir(secrets.c_str(), 0700) != 0 &&
      errno != EEXIST) {
    return base::error(base::Code::kInternal,
                       "secrets.dir: " + secrets + " cannot be created: " + std::strerror(errno));
  }
  if (!options.url.empty()) return open_postgres_store(std::move(options), clock, StoreTime::kServer);
  const std::string database = DataDir(options.data_dir).database;
  try {
    auto resources = open_resources(options, clock.wall());
    if (!resources) return resources.error();
    return std::unique_ptr<Store>(
        std::make_unique<FileStore>(std::move(options), clock, std::move(*resources)));
  } catch (const DbError& e) {
    return cannot_open(database, e);
  }
}

}  // namespace millrace::storage
