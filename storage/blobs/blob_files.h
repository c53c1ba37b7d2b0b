#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include <dirent.h>

#include "platform/base/crypto.h"
#include "platform/base/result.h"
#include "storage/blobs/blobs.h"
#include "storage/blobs/disk_floor.h"
#include "storage/blobs/piece_writer.h"

// Inside storage: the files of the local blob implementation.
namespace millrace::storage {

inline constexpr std::string_view kIncomingFolder = "incoming";

// The path of a new blob with this hash: a folder named by the first two digits, and a unique file name.
std::string new_blob_path(const std::string& sha256_hex);

// kStoredDamaged. Logs the file's path below the blob folder and `what` is wrong with it.
base::Error damaged_blob(const BlobRef& ref, const std::string& what);

// The first `bytes` bytes of a file that was just opened; the errors of file_error. Blocks.
base::Result<std::string> read_blob(const OpenFile& file, std::int64_t bytes);

base::Status sync_folder(const std::string& folder);

// The 256 folders that hold the blobs. Thread-safe.
class BlobFolders {
 public:
  explicit BlobFolders(std::string root) : root_(std::move(root)) {}

  // The folder for blobs with this hash. Creates it if it is missing, and syncs its directory entry once,
  // whoever created it: another thread or process may not have synced it yet.
  base::Result<std::string> folder(const std::string& sha256_hex);

 private:
  const std::string root_;
  std::array<std::atomic<bool>, 256> is_synced_{};
};

// A file that is being written. It is written in pieces, hashed while it is written, and holds a shared flock
// from the start.
class IncomingFile final : public BlobWriter {
 public:
  // `floor` null: for accepted work.
  static base::Result<std::unique_ptr<BlobWriter>> create(const std::string& folder,
                                                          std::shared_ptr<BlobFolders> folders,
                                                          std::int64_t expected_bytes,
                                                          std::shared_ptr<DiskFloor> floor);
  ~IncomingFile() override;

  base::Status append(std::string_view bytes) override;
  std::int64_t bytes() const override { return bytes_; }
  base::Result<Staged> finish() override;

 private:
  IncomingFile(std::string folder, std::shared_ptr<BlobFolders> folders, std::string path, int fd,
               std::int64_t expected_bytes, std::shared_ptr<DiskFloor> floor);
  base::Status complete();
  base::Result<BlobRef> rename_to_final();

  std::string folder_, path_;
  std::shared_ptr<BlobFolders> folders_;
  OpenFile file_;
  std::shared_ptr<DiskFloor> floor_;
  PieceWriter writer_;
  std::int64_t bytes_ = 0;
  base::Sha256 hash_;
  bool finished_ = false;
};

// Walks the blob folder repeatedly, a few files per step, and removes files that no row references and no
// process holds. Each step continues where the last one stopped. Thread-safe.
class OrphanSweep {
 public:
  explicit OrphanSweep(std::string folder) : folder_(std::move(folder)) {}
  ~OrphanSweep();

  struct Query {
    std::int64_t older_than_ms = 0;  // only files last written before this wall time
    Blobs::IsReferenced is_referenced = nullptr;
    void* context = nullptr;
  };
  int step(const Query& query, int limit);

 private:
  std::string next_path(int& folders_left);
  bool open_next_folder();
  bool remove_if_orphan(const std::string& path, const Query& query) const;

  const std::string folder_;
  std::mutex mutex_;
  DIR* listing_ = nullptr;
  int place_ = -1;  // -1: incoming; otherwise the number of the folder
};

}  // namespace millrace::storage
