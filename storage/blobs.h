#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "platform/base/crypto.h"
#include "platform/base/result.h"

namespace millrace::storage {

// Payloads up to this stand in their row, larger ones in a blob.
inline constexpr std::size_t kInlineMax = 32 * 1024;

// A blob that the database knows. `path` is relative to the blob folder and is never reused.
struct BlobRef {
  std::string sha256_hex;
  std::string path;
  std::int64_t bytes = 0;
  friend bool operator==(const BlobRef&, const BlobRef&) = default;
};

// An open, read-only file; closes itself.
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

// A file on its way into the database: complete, fsynced, under its own name `<sha>-<random>`, with a shared
// flock that keeps the orphan GC away. The transaction that adopts it either names its file in a new row or
// raises the refs of a row with the same (tenant, sha256); `adopted(true)` after the commit keeps the file.
// Otherwise the destructor removes it. Shared by the move that carries it; thread-safe once made.
class StagedBlob {
 public:
  virtual ~StagedBlob() = default;
  virtual const BlobRef& ref() const = 0;
  // Told by the store after the commit: true if a row now names this file.
  virtual void adopted(bool file_is_named) = 0;
  virtual base::Result<OpenFile> open() const = 0;
};
using Staged = std::shared_ptr<StagedBlob>;

// A blob that is still arriving: append, then finish. Blocking (disk): on the pool only. One thread at a
// time.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  virtual base::Status append(std::string_view bytes) = 0;
  virtual std::int64_t bytes() const = 0;
  // fsync file, rename, fsync folder. After it the writer is spent. A writer that is dropped removes its
  // file.
  virtual base::Result<Staged> finish() = 0;
};

// Content-addressed files under DATA/blobs. The seam: files now, S3-compatible later;
// tests/contract/blobs_contract.cpp holds for every implementation. Thread-safe; everything blocks on the
// disk.
class Blobs {
 public:
  virtual ~Blobs() = default;
  // Of work that is handed in. kOverloaded ("disk_free_min") if `expected_bytes` would leave less than the
  // minimum free.
  virtual base::Result<std::unique_ptr<BlobWriter>> begin(std::int64_t expected_bytes) = 0;
  // Of what accepted work must write to come to its end, in what the minimum keeps free (delivery.md, Disk
  // full). kOverloaded: the disk has not the room at all.
  virtual base::Result<std::unique_ptr<BlobWriter>> begin_owed(std::int64_t expected_bytes) = 0;
  // kStoredDamaged, and a line in the log that names the blob: it has not the length any more that `ref` has;
  // what is read as a whole must have its hash, too.
  virtual base::Result<OpenFile> open(const BlobRef& ref) const = 0;
  virtual base::Result<std::string> read(const BlobRef& ref) const = 0;
  // Removes the file of a row that the GC has deleted and committed.
  virtual void unlink(const std::string& path) = 0;
  // Removes files that no row names and nobody holds, older than `age_ms`, at most `limit` looked at per
  // call; `is_named(path)` asks the database. Returns files removed.
  using IsNamed = bool (*)(void* context, const std::string& path);
  virtual int collect_orphans(std::int64_t now_ms, std::int64_t age_ms, int limit, IsNamed is_named,
                              void* context) = 0;
};

// DATA/blobs on the local disk; `disk_free_min_bytes` (default 512 MB) is delivery.md's disk-full rule.
base::Result<std::unique_ptr<Blobs>> open_file_blobs(const std::string& folder,
                                                     std::int64_t disk_free_min_bytes);

}  // namespace millrace::storage
