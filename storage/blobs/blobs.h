#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "platform/base/crypto.h"
#include "platform/base/result.h"

namespace millrace::storage {

// Payloads up to this size are stored in their row, larger ones in a blob.
inline constexpr std::size_t kInlineMax = 32 * 1024;

// A blob that has a row in the database. `path` is relative to the blob folder and is never reused.
struct BlobRef {
  std::string sha256_hex;
  std::string path;
  std::int64_t bytes = 0;
  friend bool operator==(const BlobRef&, const BlobRef&) = default;
};

// An open, read-only file; the destructor closes it.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

// A complete, fsynced file that no row references yet. Its name is `<sha>-<random>`, and it holds a shared
// flock that protects it from the orphan collection. The transaction that claims it either inserts a row that
// names its file, or increments `refs` of the row with the same (tenant, sha256). `set_referenced(true)`
// after the commit keeps the file; otherwise the destructor removes it. Shared with the write that carries
// it; thread-safe after construction.
class StagedBlob {
 public:
  virtual ~StagedBlob() = default;
  virtual const BlobRef& ref() const = 0;
  // The store calls this after the commit; true if a row now names this file.
  virtual void set_referenced(bool is_referenced) = 0;
  virtual base::Result<OpenFile> open() const = 0;
  // True if the orphan collection of another host may take it soon: no row may reference it any more.
  virtual bool is_expired() const { return false; }
};
using Staged = std::shared_ptr<StagedBlob>;

// A blob that is being written: append, then finish. Blocks on the disk: for pool threads only. One thread at
// a time.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  virtual base::Status append(std::string_view bytes) = 0;
  virtual std::int64_t bytes() const = 0;
  // Syncs the file, renames it and syncs the folder. The writer cannot be used afterwards, except as
  // `may_finish_again` says. A writer that is destroyed before `finish` removes its file.
  virtual base::Result<Staged> finish() = 0;
  // True after `finish` has failed because the object store does not answer: the content is complete on the
  // local disk, and another `finish` sends it again.
  virtual bool may_finish_again() const { return false; }
};

// Content-addressed files under DATA/blobs. This interface allows other implementations, such as
// S3-compatible storage; tests/contract/blobs_contract.cpp tests every implementation. Thread-safe; every
// method blocks on the disk.
class Blobs {
 public:
  virtual ~Blobs() = default;
  // For new work. kOverloaded ("disk_free_min") if less than the minimum would be free after
  // `expected_bytes`, and from `append` and `finish` if less would be left, with what other writers are
  // writing.
  virtual base::Result<std::unique_ptr<BlobWriter>> begin(std::int64_t expected_bytes) = 0;
  // For data that accepted work must write to finish; it may use the space that the minimum keeps free
  // (docs/design/delivery.md §11). kOverloaded: the disk is full.
  virtual base::Result<std::unique_ptr<BlobWriter>> begin_reserved(std::int64_t expected_bytes) = 0;
  // kStoredDamaged, and a log line that names the blob, if it is missing or its length differs from `ref`;
  // `read` also checks the hash.
  virtual base::Result<OpenFile> open(const BlobRef& ref) const = 0;
  virtual base::Result<std::string> read(const BlobRef& ref) const = 0;
  // The place belongs to the store that `owner` names; the first one takes it. kInvalidState: it belongs to
  // another store, whose blobs this one would remove, because it does not have their rows. Succeeds if the
  // place cannot be reached: nothing that another store may need is removed before that is known.
  virtual base::Status claim(const std::string& /*owner*/) { return {}; }
  // Removes the file of a row whose deletion by the garbage collection is committed.
  virtual void unlink(const std::string& path) = 0;
  // Removes files older than `age_ms` that no row references and no process holds. Looks at `limit` files at
  // most per call; `is_referenced(path)` asks the database. Returns the number of files removed.
  using IsReferenced = bool (*)(void* context, const std::string& path);
  virtual int collect_orphans(std::int64_t now_ms, std::int64_t age_ms, int limit, IsReferenced is_referenced,
                              void* context) = 0;
};

// DATA/blobs on the local disk. `disk_free_min_bytes` (default 512 MB) is the minimum of
// docs/design/delivery.md §11.
base::Result<std::unique_ptr<Blobs>> open_file_blobs(const std::string& folder,
                                                     std::int64_t disk_free_min_bytes);

// For implementations: kOverloaded if the local disk is full, otherwise kInternal. `what` is for the log.
base::Error file_error(int error_number, std::string_view what);

// Stages a blob with these bytes: `stage` for new work, `stage_reserved` for accepted work. Blocks on the
// disk.
base::Result<Staged> stage(Blobs& blobs, std::string_view bytes);
base::Result<Staged> stage_reserved(Blobs& blobs, std::string_view bytes);

}  // namespace millrace::storage
