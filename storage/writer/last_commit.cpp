#include "storage/writer/last_commit.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "platform/base/log.h"
#include "storage/blobs/blob_files.h"
#include "storage/sqlite/errors.h"
#include "storage/sqlite/log_reader.h"
#include "storage/sqlite/vfs.h"

namespace millrace::storage {
namespace {

constexpr std::string_view kLastCommitFile = "/last-commit", kNotesFile = "/missing-commits";
constexpr std::array<char, 8> kSlotMagic = {'m', 'r', 'c', 'o', 'm', 'm', 't', '1'};

// Two slots, each in a sector of its own. The writers write the first one, the checkpointer the second.
struct LastSlot {
  static constexpr off_t kAt = 0;
  std::array<char, 8> magic = kSlotMagic;
  CommitPosition last;
  CommitPosition before_log;  // the last commit of the generation before: the database contains it
  std::uint64_t hash = 0;
};
struct CopiedSlot {
  static constexpr off_t kAt = 512;
  std::array<char, 8> magic = kSlotMagic;
  CommitPosition copied;  // the database contains everything up to this commit
  FileStamp database;     // then
  // Frames of this generation of the log that the database has: at least those of `copied`.
  std::uint64_t written_generation = 0, written_frames = 0;
  std::uint64_t hash = 0;
};

template <class Slot>
std::uint64_t hash_of(const Slot& slot) {
  static_assert(std::has_unique_object_representations_v<Slot>);
  return XXH3_64bits(&slot, offsetof(Slot, hash));
}

template <class Slot>
std::optional<Slot> read_slot(int file) {
  Slot slot;
  const bool is_whole = ::pread(file, &slot, sizeof slot, Slot::kAt) == ssize_t{sizeof slot};
  if (!is_whole || slot.magic != kSlotMagic || slot.hash != hash_of(slot)) return {};
  return slot;
}

// If it fails, the file keeps an earlier position.
template <class Slot>
void write_slot(int file, Slot slot) {
  slot.hash = hash_of(slot);
  [[maybe_unused]] const ssize_t written = ::pwrite(file, &slot, sizeof slot, Slot::kAt);
}

// In one call: a kill leaves both slots as they were, or both as they are.
void write_slots(int file, LastSlot last, CopiedSlot copied) {
  last.hash = hash_of(last);
  copied.hash = hash_of(copied);
  std::array<char, CopiedSlot::kAt + sizeof copied> bytes{};
  std::memcpy(bytes.data(), &last, sizeof last);
  std::memcpy(bytes.data() + CopiedSlot::kAt, &copied, sizeof copied);
  [[maybe_unused]] const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), 0);
}

}  // namespace

LastCommit::LastCommit(const std::string& locks)
    : file_(::open((locks + std::string(kLastCommitFile)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (file_) return;
  base::log_warn("last_commit_unusable",
                 {{"file", locks + std::string(kLastCommitFile)}, {"error", system_failure(errno)}});
}

void LastCommit::record(const SqliteDb& db, base::WallTime now) {
  const std::uint64_t more = db.commits() - std::exchange(recorded_, db.commits());
  if (more == 0) return;
  const CommitPosition none{.at_ms = base::millis(now)};
  LastSlot slot = read_slot<LastSlot>(file_.get()).value_or(LastSlot{.last = none, .before_log = none});
  const std::uint64_t generation = log_generation(db.handle());
  if (slot.last.generation != generation) slot.before_log = slot.last;
  slot.last = {.generation = generation,
               .commits = slot.last.commits + more,
               .at_ms = base::millis(now),
               .frames = static_cast<std::uint64_t>(db.log_frames())};
  write_slot(file_.get(), slot);
}

std::optional<CommitPosition> LastCommit::last() const {
  const auto slot = read_slot<LastSlot>(file_.get());
  return slot ? std::optional(slot->last) : std::nullopt;
}

void LastCommit::record_copied(const CommitPosition& before, std::uint64_t frames, bool is_whole_log,
                               const std::string& database) {
  const auto now = last().value_or(before);  // another process may have committed meanwhile
  if (now.generation != before.generation) return;
  CopiedSlot slot = read_slot<CopiedSlot>(file_.get()).value_or(CopiedSlot{});
  if (is_whole_log && frames >= before.frames) slot.copied = frames >= now.frames ? now : before;
  slot.database = file_stamp(database);
  slot.written_generation = now.generation;
  slot.written_frames = frames;
  write_slot(file_.get(), slot);
  [[maybe_unused]] const int synced = ::fdatasync(file_.get());
}

void LastCommit::reset(const CommitPosition& last) {
  LastSlot slot{.last = last, .before_log = last};
  const auto before = read_slot<LastSlot>(file_.get());
  if (last.generation != 0 && before) slot.before_log = before->before_log;
  CopiedSlot copied = read_slot<CopiedSlot>(file_.get()).value_or(CopiedSlot{});
  copied.copied = {};
  write_slots(file_.get(), slot, copied);
  [[maybe_unused]] const int synced = ::fdatasync(file_.get());
}

namespace {

constexpr const char* kMissingAdvice =
    "jobs that were accepted in this time may be gone, or run again; restore a backup if you have a newer "
    "one, check the disk, then remove the file missing-commits (docs/operations.md, Missing commits)";
// After a power cut, the time of the database may be older than the one that was recorded: a sync of its data
// does not write it.
constexpr std::int64_t kUnsyncedTimeMaxNs = 60'000'000'000;

std::string last_commit_path(const DataDir& dir) { return dir.locks + std::string(kLastCommitFile); }

// What is known about a store that no process has open.
struct KnownCommits {
  CommitPosition last;
  CommitPosition in_database;        // the database contains everything up to it; in the generation of `last`
  std::uint64_t frames_written = 0;  // of this generation, to the database
  bool is_same_database = false;     // no program has written or replaced the database since
};

bool is_unchanged(const FileStamp& then, const FileStamp& now) {
  return then.inode == now.inode && now.written_ns <= then.written_ns &&
         now.written_ns >= then.written_ns - kUnsyncedTimeMaxNs;
}

std::optional<KnownCommits> known_commits(const DataDir& dir) {
  const base::Fd file(::open(last_commit_path(dir).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  const auto slot = read_slot<LastSlot>(file.get());
  if (!slot && ::lseek(file.get(), 0, SEEK_END) > 0)
    base::log_warn("last_commit_unreadable", {{"file", last_commit_path(dir)}});
  if (!slot || slot->last.generation == 0) return {};
  KnownCommits known{.last = slot->last, .in_database = slot->before_log};
  known.in_database.generation = known.last.generation;
  known.in_database.frames = 0;
  const auto copied = read_slot<CopiedSlot>(file.get());
  if (!copied) return known;
  if (copied->written_generation == known.last.generation) known.frames_written = copied->written_frames;
  known.is_same_database = is_unchanged(copied->database, file_stamp(dir.database));
  if (copied->copied.generation != known.last.generation) return known;
  known.in_database = copied->copied;
  // After a power cut the slots may be of different times.
  if (known.last.frames < copied->copied.frames) known.last = copied->copied;
  return known;
}

// `after`: commits that were found behind those in the database.
MissingCommits missing_commits(const KnownCommits& known, std::ptrdiff_t after, std::string reason) {
  const auto total = static_cast<std::int64_t>(known.last.commits - known.in_database.commits);
  return {.commits = total - after,
          .since = base::wall_from(known.in_database.at_ms),
          .reason = std::move(reason),
          .found = {.commits = known.last.commits, .at_ms = known.last.at_ms}};
}

// The log is the one that the last commit was written to.
std::optional<MissingCommits> compare_log(const KnownCommits& known, const LogContent& log,
                                          const std::string& path) {
  if (log.frames() >= known.last.frames) return {};
  const std::string reason = path + " is intact only up to frame " + std::to_string(log.frames()) + " of " +
                             std::to_string(known.last.frames) + ": it was changed or cut off";
  const bool is_behind = log.frames() < std::max(known.in_database.frames, known.frames_written);
  const auto after = log.commits.end() - std::ranges::upper_bound(log.commits, known.in_database.frames);
  MissingCommits found = missing_commits(known, is_behind ? 0 : after, reason);
  found.drops_log = is_behind;
  found.commits = std::max<std::int64_t>(found.commits, is_behind ? 0 : 1);
  if (is_behind) return found;
  found.found.generation = log.generation;
  found.found.frames = log.frames();
  found.found.commits -= std::min(found.found.commits, static_cast<std::uint64_t>(found.commits));
  return found;
}

std::string problem_of(const LogContent& log) {
  if (log.is_empty) return " is missing or empty";
  return log.has_header ? " is not the log of this database" : " has a damaged header";
}

// nullopt: nothing is missing, or it is not known whether something is.
std::optional<MissingCommits> compare(const DataDir& dir, const KnownCommits& known, const LogContent& log) {
  const std::string path = dir.database + "-wal";
  if (log.has_header && log.generation == known.last.generation) return compare_log(known, log, path);
  if (log.has_header && is_later_generation(log.generation, known.last.generation)) return {};
  if (known.in_database.commits >= known.last.commits) return {};
  // Another program may have copied the log and removed it, or the database was restored from a backup.
  const bool is_damaged = !log.is_empty && !log.has_header;
  if (!is_damaged && !known.is_same_database) {
    base::log_warn("store_log_replaced", {{"reason", path + problem_of(log) +
                                                         ", and the database was written or replaced since; "
                                                         "it is not known whether commits are missing"}});
    return {};
  }
  MissingCommits found = missing_commits(known, 0, path + problem_of(log));
  found.drops_log = log.has_header;  // it would put pages of another time over newer ones
  return found;
}

// SQLite would write the pages of the log over a database that was restored under it.
base::Status check_same_database(const DataDir& dir, const KnownCommits& known, const LogContent& log) {
  const std::string path = dir.database + "-wal";
  const std::uint64_t copied = known.in_database.frames;
  const bool is_whole = log.generation == known.last.generation && log.frames() >= known.last.frames;
  if (!is_whole || copied == 0) return {};
  const auto page = page_of_other_database(path, dir.database, static_cast<std::uint32_t>(copied));
  if (!page) return page.error();
  if (!*page) return {};
  const std::string& database = dir.database;
  return base::error(
      base::Code::kInternal,
      database + " was replaced or damaged: its page " + std::to_string(**page) +
          " is none of those in the log " + path +
          ", which would be written over it; nothing was changed. If the database is a restored backup, "
          "remove the log: `rm -f " +
          path + " " + database +
          "-shm`. If it was not restored, one of its pages is damaged, and the log may repair it: copy the "
          "directory " +
          dir.root + ", then `sqlite3 " + database +
          " 'PRAGMA wal_checkpoint(TRUNCATE); PRAGMA integrity_check'`; start if it prints `ok`, and check "
          "the disk (docs/operations.md, Backup)");
}

}  // namespace

base::Result<std::optional<MissingCommits>> find_missing_commits(const DataDir& dir) {
  const auto known = known_commits(dir);
  if (!known) return std::optional<MissingCommits>();
  const auto log = read_log(dir.database + "-wal");
  if (!log) return log.error();
  if (auto same = check_same_database(dir, *known, *log); !same) return same.error();
  return compare(dir, *known, *log);
}

std::string describe(const MissingCommits& missing) {
  std::string text = std::to_string(missing.commits) + (missing.commits == 1 ? " commit" : " commits");
  if (base::millis(missing.since) > 0) text += " after " + base::rfc3339(missing.since);
  return text + (missing.commits == 1 ? " is" : " are") + " missing: " + missing.reason;
}

namespace {

constexpr std::streamsize kCompareBytes = 1 << 16;

base::Error not_continued(const DataDir& dir, const std::string& why) {
  return base::error(base::Code::kInternal, dir.database + ": " + why);
}

// A process that was killed in a checkpoint leaves a database with some newer pages. The missing commits have
// the rest of them.
base::Status check_structure(const DataDir& dir, const MissingCommits& missing) {
  base::log_info("store_check_begun", {{"file", dir.database}, {"reason", describe(missing)}});
  SqliteDb db(
      {.path = dir.database,
       .mode = missing.drops_log ? SqliteDb::Mode::kInspectWithoutLog : SqliteDb::Mode::kInspectExclusive});
  auto s = db.prepare("PRAGMA integrity_check(1)");
  std::string result = s.step() ? s.text(0) : "no result";
  if (result == "ok") return {};
  std::ranges::replace(result, '\n', ' ');
  return not_continued(dir, describe(missing) + ", and without them the database is malformed (" + result +
                                "); " + std::string(kRestoreBackup) +
                                ", or put the log back as it was if you have it");
}

bool is_noted(const std::string& path, const std::string& text) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) last = line;
  const std::string what = text.substr(0, text.find(": ") + 2);
  return last.substr(last.find(' ') + 1).starts_with(what);
}

// Not twice, if the process was killed before LastCommit::reset. The reason may be another one then: the log
// is set aside.
base::Status note(const DataDir& dir, const MissingCommits& missing, base::WallTime now) {
  const std::string path = dir.root + std::string(kNotesFile), text = describe(missing);
  if (is_noted(path, text)) return {};
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const std::string line = base::rfc3339(now) + " " + text + "\n";
  errno = 0;
  const bool is_written =
      file && ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
      ::fsync(file.get()) == 0;
  if (is_written) return {};
  const int cause = errno == 0 ? ENOSPC : errno;  // 0: only a part of the line was written
  return base::error(base::Code::kInternal, path + ": cannot be written: " + system_failure(cause));
}

bool is_same_content(const std::string& one, const std::string& other) {
  if (file_bytes(one) != file_bytes(other)) return false;
  std::ifstream first(one, std::ios::binary), second(other, std::ios::binary);
  std::vector<char> bytes(kCompareBytes), others(kCompareBytes);
  while (first && second) {
    first.read(bytes.data(), kCompareBytes);
    second.read(others.data(), kCompareBytes);
    const auto count = first.gcount();
    if (second.gcount() != count || !std::equal(bytes.begin(), bytes.begin() + count, others.begin()))
      return false;
  }
  return first.eof() && second.eof();
}

// A start that was killed, or could not write the note, has kept the log already.
bool is_kept(const DataDir& dir, const std::string& log, const std::string& prefix) {
  std::error_code failed;
  for (std::filesystem::directory_iterator at(dir.root, failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string file = at->path().string();
    if (file.starts_with(prefix) && is_same_content(file, log)) return true;
  }
  return false;
}

// `to` is there as a whole or not at all.
base::Status synced_copy(const std::string& from, const std::string& to, const std::string& temporary) {
  std::error_code failed;
  std::filesystem::copy_file(from, temporary, std::filesystem::copy_options::overwrite_existing, failed);
  const base::Fd copy(failed ? -1 : ::open(temporary.c_str(), O_RDONLY | O_CLOEXEC));
  if (copy && ::fsync(copy.get()) == 0 && std::rename(temporary.c_str(), to.c_str()) == 0) return {};
  const int cause = failed ? failed.value() : errno;
  ::unlink(temporary.c_str());
  return base::error(base::Code::kInternal, to + ": cannot be written: " + system_failure(cause));
}

// SQLite overwrites a log of which it does not use everything. A log that is dropped keeps its second name
// and needs no space for a copy, if the file system has such names.
base::Status keep_log(const DataDir& dir, const MissingCommits& missing, base::WallTime now) {
  const std::string log = dir.database + "-wal", temporary = log + ".damaged";
  if (file_bytes(log) == 0 || is_kept(dir, log, temporary + "-")) return {};
  std::string kept = temporary + "-" + base::rfc3339(now);
  std::erase(kept, ':');
  if (!missing.drops_log || ::link(log.c_str(), kept.c_str()) != 0) {
    if (auto copied = synced_copy(log, kept, temporary); !copied) return copied;
  }
  base::log_warn("store_log_set_aside", {{"file", kept}});
  return sync_folder(dir.root);
}

base::Status drop_log(const DataDir& dir) {
  const std::string log = dir.database + "-wal";
  if (::unlink(log.c_str()) == 0 || errno == ENOENT) return sync_folder(dir.root);
  return base::error(base::Code::kInternal, log + ": cannot be removed: " + system_failure(errno));
}

}  // namespace

base::Status report_and_set_aside(const DataDir& dir, LastCommit& last, base::WallTime now,
                                  bool may_continue) {
  const auto found = find_missing_commits(dir);
  if (!found) return found.error();
  const std::optional<MissingCommits>& missing = *found;
  if (!missing) return {};
  if (missing->commits > 0) {
    if (!may_continue) {
      return not_continued(dir, describe(*missing) +
                                    "; nothing was changed; run `millrace doctor`, which shows what to do "
                                    "before the next start of the gateway");
    }
    if (auto whole = check_structure(dir, *missing); !whole) return whole;
    base::log_error("store_commits_missing", {{"commits", missing->commits},
                                              {"since", base::rfc3339(missing->since)},
                                              {"reason", missing->reason},
                                              {"advice", kMissingAdvice}});
  }
  // Each step is on the disk before the next one. A start that is killed in between is repeated by the next
  // one, which finds the same as long as the log has its name and LastCommit is not reset.
  if (auto kept = keep_log(dir, *missing, now); !kept) return kept;
  if (missing->commits > 0) {
    if (auto noted = note(dir, *missing, now); !noted) return noted;
  }
  if (auto synced = sync_folder(dir.root); !synced) return synced;
  if (missing->drops_log) {
    if (auto dropped = drop_log(dir); !dropped) return dropped;
  }
  last.reset(missing->found);
  return {};
}

std::int64_t missing_commits_noted(const DataDir& dir) {
  std::ifstream file(dir.root + std::string(kNotesFile));
  std::int64_t total = 0, commits = 0;
  std::string time;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (words >> time >> commits) total += commits;
  }
  return total;
}

}  // namespace millrace::storage
