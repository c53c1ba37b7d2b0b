#include "storage/store.h"

#include <utility>

#include "storage/checkpoint.h"
#include "storage/data_dir.h"
#include "storage/group_writer.h"
#include "storage/migrate.h"
#include "storage/open_failure.h"
#include "storage/reader_pool.h"
#include "storage/store_watch.h"

namespace millrace::storage {
namespace {

// How long close() waits for the writer to get through the turnstile before it refuses what is queued.
constexpr std::chrono::milliseconds kClosePatience{5'000};

// Everything that has to be opened, in the order in which it depends on each other.
struct Parts {
  DataDir dir;
  SchemaLock schema;
  std::unique_ptr<Turnstile> turnstile;
  std::unique_ptr<Blobs> blobs;
  std::unique_ptr<Checkpointer> checkpointer;
};

base::Result<Parts> open_parts(const Store::Options& options) {
  auto dir = open_data_dir(options.data_dir);
  if (!dir) return dir.error();
  if (const std::string lost = lost_database(*dir); !lost.empty())
    return base::error(base::Code::kInternal, lost);
  auto file = LockFile::open(dir->locks + "/schema.lock");
  if (!file) return file.error();
  SchemaLock schema(std::move(*file));
  const MigrationBounds bounds{options.schema_wait, options.disk_free_min_bytes};
  if (auto due = migrate(dir->database, schema, migrations(), bounds); !due) return due.error();
  auto turnstile = Turnstile::open(dir->locks);
  if (!turnstile) return turnstile.error();
  auto blobs = open_file_blobs(dir->blobs, options.disk_free_min_bytes);
  if (!blobs) return blobs.error();
  auto checkpointer = Checkpointer::open({.database = dir->database,
                                          .locks = dir->locks,
                                          .wal_max_bytes = options.wal_max_bytes,
                                          .interval = options.checkpoint_interval});
  if (!checkpointer) return checkpointer.error();
  return Parts{std::move(*dir), std::move(schema), std::move(*turnstile), std::move(*blobs),
               std::move(*checkpointer)};
}

GroupWriter::Options writer_options(const Store::Options& options, const DataDir& dir) {
  return {.database = dir.database,
          .queue_max = options.queue_max,
          .limits = {.bounds = {options.group_operations_max, options.group_payload_bytes_max},
                     .wait_max = options.group_wait_max}};
}

// Declaration order is shutdown order, from the last to the first.
class FileStore final : public Store {
 public:
  FileStore(Options options, const base::Clock& clock, Parts parts)
      : options_(std::move(options)),
        clock_(clock),
        parts_(std::move(parts)),
        readers_(parts_.dir.database, options_.readers),
        writer_(writer_options(options_, parts_.dir), clock_, *parts_.turnstile, health_,
                [this](int log_frames) { parts_.checkpointer->committed(log_frames); }),
        watch_(std::make_unique<StoreWatch>(
            StoreWatch::Options{.folder = parts_.dir.root,
                                .log = parts_.dir.database + "-wal",
                                .disk_free_min_bytes = options_.disk_free_min_bytes,
                                .stuck_after = options_.stuck_lock_after},
            *parts_.turnstile, health_, [this](const std::string& why) { writer_.withdraw(why); })) {}
  ~FileStore() override { close(); }

  Writer& writer() override { return writer_; }
  Readers& readers() override { return readers_; }
  Blobs& blobs() override { return *parts_.blobs; }
  const base::Clock& clock() const override { return clock_; }
  const Options& options() const override { return options_; }
  void on_commit(std::function<void(const Commit&)> hook) override { writer_.on_commit(std::move(hook)); }
  void announce_within(std::function<std::shared_ptr<void>()> scope) override {
    writer_.announce_within(std::move(scope));
  }
  int lend_announcements() override { return writer_.announcer().lend(); }
  void take_announcements() override { writer_.announcer().take_lent(); }
  void return_announcements() override { writer_.announcer().return_lent(); }
  bool announcements_are_due() const override { return writer_.has_many_under_way(); }
  void on_group(GroupWatch watch) override { writer_.on_group(std::move(watch)); }
  Health health() const override { return health_.health(); }
  Stats stats() const override;
  void close() override;

 private:
  const Options options_;
  const base::Clock& clock_;
  HealthBoard health_;
  Parts parts_;
  ReaderPool readers_;
  GroupWriter writer_;
  std::unique_ptr<StoreWatch> watch_;
};

Store::Stats FileStore::stats() const {
  const GroupWriter::Counts writes = writer_.counts();
  Stats stats;
  stats.groups_total = writes.groups;
  stats.operations_total = writes.operations;
  stats.failed_groups_total = writes.failed_groups;
  stats.commit_seconds_max = writes.commit_seconds_max;
  stats.db_bytes = file_bytes(parts_.dir.database);
  stats.wal_bytes = file_bytes(parts_.dir.database + "-wal");
  stats.disk_free_bytes = free_bytes(parts_.dir.root);
  stats.queue_depth = writer_.depth();
  const Checkpointer::Counts checkpoints = parts_.checkpointer->counts();
  stats.checkpoints_total = checkpoints.checkpoints;
  stats.wal_restarts_total = checkpoints.restarts;
  return stats;
}

void FileStore::close() {
  writer_.close(health_.degraded() ? std::chrono::milliseconds(0) : kClosePatience);
  parts_.checkpointer->stop();
  watch_.reset();
  readers_.close();
}

}  // namespace

base::Result<std::unique_ptr<Store>> Store::open(Options options, const base::Clock& clock) {
  const std::string database = DataDir(options.data_dir).database;
  try {
    auto parts = open_parts(options);
    if (!parts) return parts.error();
    return std::unique_ptr<Store>(std::make_unique<FileStore>(std::move(options), clock, std::move(*parts)));
  } catch (const SqliteError& e) {
    return cannot_open(database, e);
  }
}

}  // namespace millrace::storage
