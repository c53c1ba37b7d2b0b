#include "storage/s3/s3_blobs.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <set>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/crypto.h"
#include "platform/base/log.h"
#include "storage/blobs/blob_files.h"
#include "storage/s3/blob_cache.h"
#include "storage/s3/owner.h"
#include "storage/s3/removal_queue.h"

namespace millrace::s3 {

using storage::BlobRef;
using storage::OpenFile;
using storage::Staged;

namespace {

// Shared with the writers and staged blobs, which may outlive the Blobs. Members are shut down in reverse
// order of declaration.
struct Core {
  Core(Options options, std::string folder, std::unique_ptr<BlobCache> local_copies)
      : staging_folder(std::move(folder)),
        staged_age_max(options.staged_age_max),
        client(std::move(options.location), std::move(options.credentials), options.bounds),
        cache(std::move(local_copies)),
        removals(client) {}

  void remove(const std::string& path) {
    cache->remove(path);
    removals.add(path);
  }
  bool is_held(const std::string& path) {
    const std::lock_guard lock(mutex);
    return held.contains(path);
  }

  const std::string staging_folder;
  const std::chrono::milliseconds staged_age_max;
  const base::SystemClock clock = {};
  std::mutex mutex;
  std::set<std::string> held;  // paths of writers and staged blobs
  Client client;
  std::unique_ptr<BlobCache> cache;
  RemovalQueue removals;
  std::string owner;                 // set once, by `claim`; empty: it is not checked
  std::atomic<bool> is_owned{true};  // it is known that the objects are those of `owner`
};
using CorePtr = std::shared_ptr<Core>;

// Protects a path from the orphan collection of this process.
class Hold {
 public:
  Hold(CorePtr core, std::string path) : core_(std::move(core)), path_(std::move(path)) {
    const std::lock_guard lock(core_->mutex);
    core_->held.insert(path_);
  }
  ~Hold() {
    const std::lock_guard lock(core_->mutex);
    core_->held.erase(path_);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  const CorePtr core_;
  const std::string path_;
};

// A stored and verified object. `file` keeps the local content readable even if the cache drops it.
class StagedObject final : public storage::StagedBlob {
 public:
  StagedObject(CorePtr core, BlobRef ref, OpenFile file, std::unique_ptr<Hold> hold)
      : core_(std::move(core)),
        ref_(std::move(ref)),
        file_(std::move(file)),
        hold_(std::move(hold)),
        expires_at_(core_->clock.boot() + core_->staged_age_max) {}
  ~StagedObject() override {
    if (!referenced_) core_->remove(ref_.path);
  }

  const BlobRef& ref() const override { return ref_; }
  void set_referenced(bool is_referenced) override { referenced_ = is_referenced; }
  base::Result<OpenFile> open() const override {
    const std::string path = "/proc/self/fd/" + std::to_string(file_.fd());
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return storage::file_error(errno, "open a staged blob");
    return OpenFile(fd);
  }
  bool is_expired() const override { return core_->clock.boot() >= expires_at_; }

 private:
  const CorePtr core_;
  const BlobRef ref_;
  const OpenFile file_;
  const std::unique_ptr<Hold> hold_;
  const base::BootTime expires_at_;
  std::atomic<bool> referenced_{false};
};

base::Error object_too_large() {
  return base::error(base::Code::kTooLarge, "a file in S3 storage has at most " +
                                                std::to_string(kObjectBytesMax >> 30) + " GiB (blobs.url)");
}

// Writes to a staged file of the local disk; `finish` stores it.
class ObjectWriter final : public storage::BlobWriter {
 public:
  ObjectWriter(CorePtr core, std::unique_ptr<storage::BlobWriter> writer)
      : core_(std::move(core)), writer_(std::move(writer)) {}
  ~ObjectWriter() override {
    if (hold_) core_->removals.add(local_->ref().path);  // it may be there all the same
  }

  base::Status append(std::string_view bytes) override {
    if (writer_->bytes() + static_cast<std::int64_t>(bytes.size()) > kObjectBytesMax)
      return object_too_large();
    return writer_->append(bytes);
  }
  std::int64_t bytes() const override { return writer_->bytes(); }
  base::Result<Staged> finish() override;
  bool may_finish_again() const override { return may_finish_again_; }

 private:
  const CorePtr core_;
  const std::unique_ptr<storage::BlobWriter> writer_;
  Staged local_;                // the complete local file; it goes with the writer
  std::unique_ptr<Hold> hold_;  // of an object that was sent, until it is staged
  bool may_finish_again_ = false;
};

base::Result<Staged> ObjectWriter::finish() {
  if (!std::exchange(may_finish_again_, false)) {
    auto local = writer_->finish();
    if (!local) return local.error();
    local_ = *std::move(local);
  }
  const BlobRef& ref = local_->ref();
  auto file = local_->open();
  if (!file) return file.error();
  if (!hold_) hold_ = std::make_unique<Hold>(core_, ref.path);
  if (auto stored = core_->client.put(ref.path, file->fd(), ref.bytes, ref.sha256_hex); !stored) {
    may_finish_again_ = stored.error().code == base::Code::kOverloaded;
    return stored.error();
  }
  core_->cache->add(ref, core_->staging_folder + "/" + ref.path);  // a link of its own
  return Staged(std::make_shared<StagedObject>(core_, ref, std::move(*file), std::move(hold_)));
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Whether `key` has the form of BlobRef::path: "ab/<64 digits>-<32 digits>". Other objects are not ours.
bool is_blob_path(std::string_view key) {
  constexpr std::size_t kFolder = 2, kSha = 64, kRandom = 32;
  return key.size() == kFolder + 1 + kSha + 1 + kRandom && key[kFolder] == '/' &&
         key[kFolder + 1 + kSha] == '-' && is_hex(key.substr(0, kFolder)) &&
         is_hex(key.substr(kFolder + 1, kSha)) && is_hex(key.substr(kFolder + kSha + 2));
}

class S3Blobs final : public storage::Blobs {
 public:
  S3Blobs(CorePtr core, std::unique_ptr<storage::Blobs> staging, std::chrono::milliseconds orphan_age_min)
      : core_(std::move(core)), staging_(std::move(staging)), orphan_age_min_(orphan_age_min) {}

  base::Result<std::unique_ptr<storage::BlobWriter>> begin(std::int64_t expected_bytes) override {
    auto local = staging_->begin(expected_bytes);
    if (!local && local.error().code == base::Code::kOverloaded &&
        core_->cache->make_room(std::max<std::int64_t>(expected_bytes, 0)))
      local = staging_->begin(expected_bytes);
    return writer(std::move(local), expected_bytes);
  }
  base::Result<std::unique_ptr<storage::BlobWriter>> begin_reserved(std::int64_t expected_bytes) override {
    return writer(staging_->begin_reserved(expected_bytes), expected_bytes);
  }
  base::Result<OpenFile> open(const BlobRef& ref) const override;
  base::Result<std::string> read(const BlobRef& ref) const override;
  base::Status claim(const std::string& owner) override;
  void unlink(const std::string& path) override {
    core_->is_owned ? core_->remove(path) : core_->cache->remove(path);
  }
  int collect_orphans(std::int64_t now_ms, std::int64_t age_ms, int limit, IsReferenced is_referenced,
                      void* context) override;

 private:
  base::Result<std::unique_ptr<storage::BlobWriter>> writer(
      base::Result<std::unique_ptr<storage::BlobWriter>> local, std::int64_t expected_bytes) const {
    if (!local) return local.error();
    if (expected_bytes > kObjectBytesMax) return object_too_large();
    return std::unique_ptr<storage::BlobWriter>(std::make_unique<ObjectWriter>(core_, std::move(*local)));
  }

  base::Status check_owner();

  const CorePtr core_;
  const std::unique_ptr<storage::Blobs> staging_;
  const std::chrono::milliseconds orphan_age_min_;
  std::mutex listing_mutex_;
  std::string continuation_;  // where the next collection goes on
};

base::Status S3Blobs::claim(const std::string& owner) {
  core_->owner = owner;
  core_->is_owned = false;
  const base::Status owned = check_owner();
  return owned || owned.error().code != base::Code::kInvalidState ? base::Status() : owned;
}

base::Status S3Blobs::check_owner() {
  const auto owned = claim_objects(core_->client, core_->owner);
  core_->is_owned = owned.has_value();
  if (!owned) base::log_warn("s3_owner_unknown", {{"error", owned.error().message}});
  return owned;
}

base::Result<OpenFile> S3Blobs::open(const BlobRef& ref) const {
  if (core_->removals.contains(ref.path)) return damaged_object(ref, "it has been removed");
  return core_->cache->open(ref, [&](int file) -> base::Status {
    auto fetched = core_->client.get(ref.path, ref.bytes, file);
    if (fetched || fetched.error().code != base::Code::kNotFound) return fetched;
    return damaged_object(ref, "it is missing");
  });
}

base::Result<std::string> S3Blobs::read(const BlobRef& ref) const {
  auto file = open(ref);
  if (!file) return file.error();
  auto bytes = storage::read_blob(*file, ref.bytes);
  if (!bytes) return bytes;
  if (base::hex(base::sha256(*bytes)) == ref.sha256_hex) return bytes;
  core_->cache->remove(ref.path);
  return base::error(
      base::Code::kStoredDamaged,
      "A stored file that this request needs has changed on the gateway's disk while it was read");
}

int S3Blobs::collect_orphans(std::int64_t now_ms, std::int64_t age_ms, int limit, IsReferenced is_referenced,
                             void* context) {
  const auto never = [](void*, const std::string&) { return false; };
  int removed = staging_->collect_orphans(now_ms, age_ms, limit, never, nullptr);
  if (!core_->is_owned && !check_owner()) return removed;
  const base::WallTime newest =
      base::wall_from(now_ms - std::max<std::int64_t>(age_ms, orphan_age_min_.count()));
  const std::lock_guard lock(listing_mutex_);
  const auto listing = core_->client.list(continuation_, limit - removed);
  if (!listing) {
    continuation_.clear();
    return removed;
  }
  continuation_ = listing->next;
  for (const ListedObject& object : listing->objects) {
    const bool may_go = is_blob_path(object.key) && object.modified < newest && !core_->is_held(object.key);
    if (!may_go || is_referenced(context, object.key)) continue;
    core_->cache->remove(object.key);
    if (core_->client.remove(object.key)) ++removed;
  }
  return removed;
}

}  // namespace

base::Result<std::unique_ptr<storage::Blobs>> open_s3_blobs(const std::string& folder,
                                                            std::int64_t disk_free_min_bytes,
                                                            Options options) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return storage::file_error(errno, "create the blob folder");
  const std::string staging_folder = folder + "/staging";
  auto staging = storage::open_file_blobs(staging_folder, disk_free_min_bytes);
  if (!staging) return staging.error();
  auto cache = BlobCache::open({.folder = folder + "/cache",
                                .bytes_max = options.cache_bytes_max,
                                .disk_free_min_bytes = disk_free_min_bytes});
  if (!cache) return cache.error();
  const auto orphan_age_min = options.orphan_age_min;
  auto core = std::make_shared<Core>(std::move(options), staging_folder, std::move(*cache));
  const BucketCheck checked = core->client.check();
  if (!checked.accepted) return checked.accepted.error();
  if (!checked.reached) base::log_warn("s3_unavailable", {{"error", checked.reached.error().message}});
  return std::unique_ptr<storage::Blobs>(
      std::make_unique<S3Blobs>(std::move(core), std::move(*staging), orphan_age_min));
}

base::Status claim_bucket(const Location& location, const Credentials& credentials,
                          const std::string& owner) {
  Client client(location, credentials, {});
  return claim_objects(client, owner);
}

base::Status take_bucket(const Location& location, const Credentials& credentials, const std::string& owner) {
  Client client(location, credentials, {});
  return take_objects(client, owner);
}

BucketCheck check_bucket(const Location& location, const Credentials& credentials) {
  return Client(location, credentials, {}).check();
}

}  // namespace millrace::s3
