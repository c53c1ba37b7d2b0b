#include "storage/s3/blob_cache.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "platform/base/crypto.h"
#include "platform/base/ids.h"
#include "platform/base/log.h"
#include "storage/data_dir.h"

namespace millrace::s3 {

using storage::BlobRef;
using storage::OpenFile;

namespace {

constexpr std::string_view kIncoming = "incoming";
constexpr std::int64_t kIncomingAgeMaxNs =
    3'600'000'000'000;  // an older one belongs to a process that has died
constexpr std::size_t kCheckedMax = 16'384;
constexpr std::size_t kPieceBytes = 256u << 10;

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

timespec now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

// Empty: the file cannot be read.
std::string file_sha256(int file) {
  base::Sha256 hash;
  std::string piece(kPieceBytes, '\0');
  off_t at = 0;
  for (;;) {
    const ssize_t got = ::pread(file, piece.data(), piece.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {};
    if (got == 0) return base::hex(hash.finish());
    hash.update(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
    at += got;
  }
}

base::Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return storage::file_error(errno, "create a folder of the blob cache");
  return {};
}

}  // namespace

base::Error damaged_object(const BlobRef& ref, const char* what) {
  base::log_error("s3_object_damaged", {{"blob", ref.path}, {"bytes", ref.bytes}, {"what", what}});
  return base::error(
      base::Code::kStoredDamaged,
      "A stored file that this request needs is missing or damaged in the object store. The gateway's log "
      "names it");
}

// A fetch that other threads may wait for.
struct BlobCache::Running {
  std::condition_variable ended;
  std::optional<base::Status> result;
};

struct BlobCache::Entry {
  std::int64_t used_ns, modified_ns, bytes;
  std::string path;
  bool is_incoming;
};

// Holds the lock of the sum.
class BlobCache::Locked {
 public:
  explicit Locked(BlobCache& cache) : cache_(cache), lock_(cache.total_mutex_) {
    while (::flock(cache_.total_.fd(), LOCK_EX) != 0 && errno == EINTR) {
    }
    if (::pread(cache_.total_.fd(), &bytes, sizeof bytes, 0) != sizeof bytes) bytes = 0;
  }
  ~Locked() {
    bytes = std::max<std::int64_t>(bytes, 0);
    if (::pwrite(cache_.total_.fd(), &bytes, sizeof bytes, 0) != sizeof bytes)
      base::log_warn("blob_cache_size_not_written", {{"folder", cache_.options_.folder}});
    ::flock(cache_.total_.fd(), LOCK_UN);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  std::int64_t bytes = 0;

 private:
  BlobCache& cache_;
  const std::lock_guard<std::mutex> lock_;
};

base::Result<std::unique_ptr<BlobCache>> BlobCache::open(Options options) {
  for (const std::string& folder : {options.folder, options.folder + "/" + std::string(kIncoming)}) {
    if (auto made = make_folder(folder); !made) return made.error();
  }
  OpenFile total(::open((options.folder + "/total").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (total.fd() < 0) return storage::file_error(errno, "open the blob cache");
  std::unique_ptr<BlobCache> cache(new BlobCache(std::move(options), std::move(total)));
  Locked locked(*cache);
  locked.bytes = cache->remove_oldest(cache->options_.bytes_max);
  return cache;
}

BlobCache::BlobCache(Options options, OpenFile total)
    : options_(std::move(options)), total_(std::move(total)) {}

base::Result<OpenFile> BlobCache::open(const BlobRef& ref, const Fetch& fetch) {
  for (;;) {
    if (OpenFile file = open_copy(ref); file.fd() >= 0) return file;
    std::shared_ptr<Running> running;
    {
      std::unique_lock lock(mutex_);
      auto& slot = running_[ref.path];
      if (const auto other = slot) {
        other->ended.wait(lock, [&] { return other->result.has_value(); });
        if (!*other->result) return other->result->error();
        continue;
      }
      running = slot = std::make_shared<Running>();
    }
    OpenFile copy = open_copy(ref);  // another thread may just have fetched it
    auto fetched = copy.fd() >= 0 ? base::Result<OpenFile>(std::move(copy)) : fetch_copy(ref, fetch);
    const std::lock_guard lock(mutex_);
    running_.erase(ref.path);
    running->result = fetched ? base::Status() : base::Status(fetched.error());
    running->ended.notify_all();
    return fetched;
  }
}

// Without a descriptor: there is no copy, or it was damaged and is removed.
OpenFile BlobCache::open_copy(const BlobRef& ref) {
  OpenFile file(::open(full(ref.path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat about {};
  if (file.fd() < 0 || ::fstat(file.fd(), &about) != 0) return {};
  const Stamp stamp{about.st_ino, about.st_size, nanoseconds(about.st_mtim)};
  if (about.st_size != ref.bytes ||
      (!is_checked(ref.path, stamp) && file_sha256(file.fd()) != ref.sha256_hex)) {
    base::log_warn("blob_cache_copy_damaged", {{"blob", ref.path}, {"bytes", ref.bytes}});
    remove(ref.path);
    return {};
  }
  set_checked(ref.path, stamp);
  const timespec times[2] = {now(), {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  ::futimens(file.fd(), times);
  return file;
}

base::Result<OpenFile> BlobCache::fetch_copy(const BlobRef& ref, const Fetch& fetch) {
  const std::string incoming = full(std::string(kIncoming) + "/" + base::hex(base::random_bytes(16)));
  const bool keeps = reserve(ref.bytes);
  auto file = fetch_to(incoming, ref, fetch, keeps);
  ::unlink(incoming.c_str());  // its second link is the copy
  if (!file && keeps) release(ref.bytes);
  return file;
}

base::Result<OpenFile> BlobCache::fetch_to(const std::string& incoming, const BlobRef& ref,
                                           const Fetch& fetch, bool keeps) {
  const OpenFile out(::open(incoming.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  // With its full length at once, so that a scan counts it.
  if (out.fd() < 0 || ::ftruncate(out.fd(), ref.bytes) != 0)
    return storage::file_error(errno, "create a file of the blob cache");
  if (auto fetched = fetch(out.fd()); !fetched) return fetched.error();
  struct stat about {};
  if (::fstat(out.fd(), &about) != 0) return storage::file_error(errno, "read a file of the blob cache");
  if (about.st_size != ref.bytes) return damaged_object(ref, "its size has changed");
  if (file_sha256(out.fd()) != ref.sha256_hex) return damaged_object(ref, "its content has changed");
  OpenFile file(::open(incoming.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return storage::file_error(errno, "open a file of the blob cache");
  if (!keeps) return file;
  if (auto made = make_folder(full(ref.path.substr(0, ref.path.find('/')))); !made) return made.error();
  if (::link(incoming.c_str(), full(ref.path).c_str()) != 0)
    release(ref.bytes);  // another process was faster
  set_checked(ref.path, {about.st_ino, about.st_size, nanoseconds(about.st_mtim)});
  return file;
}

void BlobCache::add(const BlobRef& ref, const std::string& file) {
  if (!make_folder(full(ref.path.substr(0, ref.path.find('/')))) || !reserve(ref.bytes)) return;
  if (::link(file.c_str(), full(ref.path).c_str()) != 0) release(ref.bytes);
}

void BlobCache::remove(const std::string& path) {
  struct stat about {};
  if (::lstat(full(path).c_str(), &about) == 0 && ::unlink(full(path).c_str()) == 0) release(about.st_size);
  const std::lock_guard lock(mutex_);
  checked_.erase(path);
}

bool BlobCache::is_checked(const std::string& path, const Stamp& stamp) {
  const std::lock_guard lock(mutex_);
  const auto found = checked_.find(path);
  return found != checked_.end() && found->second == stamp;
}

void BlobCache::set_checked(const std::string& path, const Stamp& stamp) {
  const std::lock_guard lock(mutex_);
  if (checked_.size() >= kCheckedMax) checked_.clear();
  checked_.insert_or_assign(path, stamp);
}

// The largest sum that is allowed now.
std::int64_t BlobCache::bound(std::int64_t total) const {
  const std::int64_t free = storage::free_bytes(options_.folder);
  if (free < 0) return options_.bytes_max;
  return std::min(options_.bytes_max, total + free - 2 * options_.disk_free_min_bytes);
}

// Counts `bytes` more, after removing copies where needed. False: they do not fit.
bool BlobCache::reserve(std::int64_t bytes) {
  Locked locked(*this);
  const std::int64_t allowed = bound(locked.bytes);
  if (bytes > allowed) return false;
  // A tenth more than necessary, because each removal looks at all copies.
  if (locked.bytes + bytes > allowed)
    locked.bytes = remove_oldest(std::max<std::int64_t>(allowed / 10 * 9 - bytes, 0));
  if (locked.bytes + bytes > allowed) return false;
  locked.bytes += bytes;
  return true;
}

void BlobCache::release(std::int64_t bytes) {
  Locked locked(*this);
  locked.bytes -= bytes;
}

bool BlobCache::make_room(std::int64_t bytes) {
  Locked locked(*this);
  const std::int64_t before = locked.bytes;
  const std::int64_t left = bound(locked.bytes) - bytes;
  if (left >= before) return false;
  locked.bytes = remove_oldest(std::max<std::int64_t>(left, 0));
  return locked.bytes < before;
}

// Removes copies, the least recently used first, until at most `bytes_left` are left. Returns the sum.
// REQUIRES: the lock of the sum.
std::int64_t BlobCache::remove_oldest(std::int64_t bytes_left) {
  std::vector<Entry> entries = scan();
  std::int64_t total = 0;
  for (const Entry& entry : entries) total += entry.bytes;
  std::ranges::sort(entries, {}, &Entry::used_ns);
  const std::int64_t now_ns = nanoseconds(now());
  for (const Entry& entry : entries) {
    const bool is_due =
        entry.is_incoming ? now_ns - entry.modified_ns > kIncomingAgeMaxNs : total > bytes_left;
    if (is_due && ::unlink(full(entry.path).c_str()) == 0) total -= entry.bytes;
  }
  return total;
}

std::vector<BlobCache::Entry> BlobCache::scan() const {
  std::vector<Entry> out;
  std::error_code unreadable;
  for (const auto& folder : std::filesystem::directory_iterator(options_.folder, unreadable)) {
    const std::string name = folder.path().filename();
    std::error_code not_a_folder;
    for (const auto& file : std::filesystem::directory_iterator(folder.path(), not_a_folder)) {
      struct stat about {};
      if (::lstat(file.path().c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
      out.push_back({.used_ns = nanoseconds(about.st_atim),
                     .modified_ns = nanoseconds(about.st_mtim),
                     .bytes = about.st_size,
                     .path = name + "/" + file.path().filename().string(),
                     .is_incoming = name == kIncoming});
    }
  }
  return out;
}

}  // namespace millrace::s3
