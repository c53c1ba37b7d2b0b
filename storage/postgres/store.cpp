#include "storage/postgres/store.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "platform/base/log.h"
#include "storage/blobs/blob_files.h"
#include "storage/data_dir.h"
#include "storage/postgres/clock.h"
#include "storage/postgres/database.h"
#include "storage/postgres/inspection.h"
#include "storage/postgres/migrations.h"
#include "storage/sqlite/migrations.h"
#include "storage/writer/group_writer.h"
#include "storage/writer/health.h"
#include "storage/writer/reader_pool.h"
#include "storage/writer/write_gate.h"

namespace millrace::storage {
namespace {

constexpr std::chrono::seconds kWatchEvery{1};

// Writers take turns by the lock that each transaction holds, so the gate is always open.
class PostgresGate final : public WriteGate {
 public:
  explicit PostgresGate(PostgresDb& db) : db_(db) {}
  bool acquire() override { return !interrupted_; }
  void release() override {}
  void group_done() override {}
  void interrupt() override {
    interrupted_ = true;
    db_.stop_waiting();
  }
  std::string failure_cause(const DbError& e) const override { return "store.url: " + e.message; }

 private:
  PostgresDb& db_;
  std::atomic<bool> interrupted_{false};
};

constexpr const char* kNoAnswer = "PostgreSQL, or its standby, does not answer";

// Why a writing transaction lasts that a process of the server runs. Uses a connection of its own.
std::string why_busy(const std::string& url, int server_process, const std::stop_token& stop) {
  try {
    PostgresDb db(url);
    const std::stop_callback end(stop, [&db] { db.stop_waiting(); });
    auto s = db.prepare(R"(
        SELECT CASE WHEN 'SyncRep' IN (w.wait_event, b.wait_event)
            THEN 'the standby of PostgreSQL (synchronous_standby_names = '
                || current_setting('synchronous_standby_names') || ') does not confirm commits'
            WHEN b.pid IS NOT NULL
            THEN 'the write lock is held by ' || coalesce(b.application_name, '') || ' at '
                || coalesce(host(b.client_addr), 'this host') || ' (process ' || b.pid || ' of PostgreSQL)'
            ELSE '' END
        FROM pg_stat_activity w LEFT JOIN pg_stat_activity b ON b.pid = ANY (pg_blocking_pids(w.pid))
        WHERE w.pid = ?1
        ORDER BY b.xact_start LIMIT 1)");
    s.bind(server_process);
    if (s.step() && !s.text(0).empty()) return s.text(0);
  } catch (const DbError&) {  // it does not answer
  }
  return kNoAnswer;
}

base::Error server_refused(const std::string& why) {
  return base::error(base::Code::kInternal, "store.url: " + why);
}

// DATA/identity and the row of the database name the same store. A database without a row is new, and so must
// be the directory: otherwise its documents would be removed, because no row refers to them.
// A directory of its own can use the rows of another one only if the documents are not files there.
base::Status check_owner_of_blobs(PostgresDb& db, const DataDir& dir, BlobPlace place, bool has_store) {
  DataDir named = dir;
  named.database = "the database at store.url";
  std::error_code unreadable;
  if (std::filesystem::exists(dir.database, unreadable) || unreadable)
    return server_refused(dir.database +
                          " has the jobs of this data directory; move them with `millrace store copy "
                          "--to URL`, or set --data to a new folder");
  const bool is_named = std::filesystem::exists(dir.identity, unreadable);
  db.begin_write();
  try {
    if (db.prepare("SELECT id FROM identity").step()) {
      if (!is_named && place == BlobPlace::kDataDir) {
        db.roll_back();
        return server_refused(
            "the database belongs to another data directory, whose documents are not in " + dir.root +
            "; set blobs.url if several hosts share the database, --data to that directory, or "
            "store.url to another database");
      }
    } else {
      if (has_store) {
        db.roll_back();
        return server_refused(
            "the database is empty, but " + dir.root +
            " belongs to a store; move its jobs with `millrace store copy --to URL`, correct store.url, "
            "or set --data to a new folder");
      }
      insert_identity(db, dir);
    }
    // Writes the file before the row is committed: a start that is interrupted between the two can be
    // repeated.
    if (auto own = check_identity(db, named, true); !own) {
      db.roll_back();
      return own;
    }
    db.commit();
  } catch (...) {
    db.roll_back();
    throw;
  }
  return {};
}

base::Status check_not_moved(PostgresDb& db) {
  if (!db.prepare("SELECT value FROM meta WHERE name = 'moved_to_sqlite'").step()) return {};
  return server_refused(
      "the jobs of this database were copied back to SQLite; start without store.url, or drop its schema");
}

std::vector<std::unique_ptr<Db>> postgres_readers(const Store::Options& options) {
  std::vector<std::unique_ptr<Db>> all;
  all.reserve(static_cast<std::size_t>(options.readers));
  for (int i = 0; i < options.readers; ++i) all.push_back(std::make_unique<PostgresDb>(options.url));
  return all;
}

// Members are shut down in reverse order of declaration.
class PostgresStore final : public Store {
 public:
  PostgresStore(Options options, const base::Clock& host_clock, StoreTime time, SchemaLock lock,
                std::unique_ptr<Blobs> blobs)
      : options_(std::move(options)),
        lock_(std::move(lock)),
        server_clock_(host_clock),
        clock_(time == StoreTime::kServer ? static_cast<const base::Clock&>(server_clock_) : host_clock),
        blobs_(std::move(blobs)),
        readers_(postgres_readers(options_)),
        db_(options_.url, [this](const PostgresClock::Reading& now) { server_clock_.set(now); }),
        gate_(db_) {}
  ~PostgresStore() override { close(); }

  // Before anything else: checks the server, and brings the schema up to date.
  // `has_store`: the data directory had the files of a store before this start.
  base::Status prepare(bool has_store) {
    if (auto migrated = migrate_postgres(db_, postgres_migrations()); !migrated) return migrated;
    db_.expect_schema(postgres_migrations().back().number);
    if (auto here = check_not_moved(db_); !here) return here;
    if (auto own = check_owner_of_blobs(db_, DataDir(options_.data_dir), options_.blob_place, has_store);
        !own)
      return own;
    db_.expect_store();
    if (auto claimed = blobs_->claim(postgres_owner(db_)); !claimed) return claimed;
    db_.execute("DELETE FROM writers WHERE at < now() - interval '7 days'");
    writer_.emplace(GroupWriter::Options{.queue_max = options_.queue_max,
                                         .limits = {.bounds = {options_.group_operations_max,
                                                               options_.group_payload_bytes_max},
                                                    .wait_max = options_.group_wait_max},
                                         .quota_defaults = options_.quota_defaults},
                    clock_, db_, gate_, health_);
    watch_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    return {};
  }

  Writer& writer() override { return *writer_; }
  Readers& readers() override { return readers_; }
  Blobs& blobs() override { return *blobs_; }
  const base::Clock& clock() const override { return clock_; }
  const Options& options() const override { return options_; }
  void on_commit(std::function<void(const Commit&)> hook) override { writer_->on_commit(std::move(hook)); }
  void set_completion_scope(std::function<std::shared_ptr<void>()> scope) override {
    writer_->set_completion_scope(std::move(scope));
  }
  int share_completions() override { return writer_->dispatcher().share(); }
  void run_shared_completions() override { writer_->dispatcher().run_shared(); }
  void stop_sharing_completions() override { writer_->dispatcher().stop_sharing(); }
  bool completions_are_due() const override { return writer_->has_large_group_pending(); }
  void on_group(GroupObserver watch) override { writer_->on_group(std::move(watch)); }
  Health health() const override { return health_.health(); }
  Stats stats() const override {
    const GroupWriter::Counts writes = writer_->counts();
    Stats stats;
    stats.groups_total = writes.groups;
    stats.operations_total = writes.operations;
    stats.failed_groups_total = writes.failed_groups;
    stats.commit_seconds_max = writes.commit_seconds_max;
    stats.disk_free_bytes = free_bytes(options_.data_dir);
    stats.queue_depth = writer_->depth();
    return stats;
  }
  void close() override {
    if (writer_)
      writer_->close(health_.failing() ? std::chrono::milliseconds(0) : GroupWriter::kCloseTimeout);
    watch_ = {};
    readers_.close();
  }

 private:
  // While writes fail, one is tried every second: it notices when the server is back.
  void watch(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (!stopped.wait_for(lock, stop, kWatchEvery, [] { return false; }) && !stop.stop_requested()) {
      const std::int64_t free = free_bytes(options_.data_dir);
      health_.set_disk(free >= 0 && free < options_.disk_free_min_bytes,
                       std::to_string(free) + " bytes are free in " + options_.data_dir);
      if (db_.busy() >= options_.stuck_lock_after)
        degrade(stop);
      else if (health_.degraded() || !last_cause_.empty())
        recover();
      if (health_.failing() && writer_->depth() == 0) writer_->try_write();
    }
  }

  // The transaction that lasted has ended, and another may never begin.
  void recover() {
    last_cause_.clear();
    health_.clear_degraded();
  }

  void degrade(const std::stop_token& stop) {
    if (!health_.degraded()) health_.set_degraded(kNoAnswer);
    writer_->withdraw(kNoAnswer);  // before the question, which can take seconds
    const std::string why = why_busy(options_.url, db_.server_process(), stop);
    if (db_.busy() < options_.stuck_lock_after) return;
    if (std::exchange(last_cause_, why) != why) base::log_warn("store_degraded_cause", {{"cause", why}});
    health_.set_degraded(why);
  }

  const Options options_;
  const SchemaLock lock_;  // of the data directory, shared
  PostgresClock server_clock_;
  const base::Clock& clock_;
  HealthState health_;
  std::string last_cause_;  // of a degraded state that lasts; used by watch_ only
  std::unique_ptr<Blobs> blobs_;
  ReaderPool readers_;
  PostgresDb db_;
  PostgresGate gate_;
  std::optional<GroupWriter> writer_;
  std::jthread watch_;
};

}  // namespace

base::Result<int> create_postgres_schema(const std::string& url) {
  try {
    PostgresDb db(url);
    if (auto migrated = migrate_postgres(db, postgres_migrations()); !migrated) return migrated.error();
    return schema_version(db);
  } catch (const DbError& e) {
    return server_refused(e.message);
  }
}

base::Result<std::unique_ptr<Store>> open_postgres_store(Store::Options options, const base::Clock& clock,
                                                         StoreTime time) {
  auto dir = open_data_dir(options.data_dir);
  if (!dir) return dir.error();
  auto file = LockFile::open(dir->locks + "/schema.lock");
  if (!file) return file.error();
  SchemaLock lock(std::move(*file));
  if (!lock.share(options.schema_wait)) return server_refused(lock.holders() + " copies the data directory");
  const bool has_store = has_pepper_or_blobs(*dir);  // blobs may create files
  auto blobs = options.open_blobs(dir->blobs, options.disk_free_min_bytes);
  if (!blobs) return blobs.error();
  try {
    auto store =
        std::make_unique<PostgresStore>(std::move(options), clock, time, std::move(lock), std::move(*blobs));
    if (auto prepared = store->prepare(has_store); !prepared) return prepared.error();
    return std::unique_ptr<Store>(std::move(store));
  } catch (const DbError& e) {
    return server_refused(e.message);
  }
}

}  // namespace millrace::storage
