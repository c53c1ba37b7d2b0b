#include "storage/blobs/blobs.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/blobs/blob_files.h"

namespace millrace::storage {
namespace {

// Paths: `folder`/incoming/<random> while a blob is written, then `folder`/<first two
// digits>/<sha256>-<random>.
class FileBlobs final : public Blobs {
 public:
  FileBlobs(std::string folder, std::int64_t disk_free_min_bytes)
      : folder_(std::move(folder)),
        folders_(std::make_shared<BlobFolders>(folder_)),
        floor_(std::make_shared<DiskFloor>(folder_, disk_free_min_bytes)),
        sweep_(folder_) {}

  base::Result<std::unique_ptr<BlobWriter>> begin(std::int64_t expected_bytes) override {
    if (auto fits = floor_->check(std::max<std::int64_t>(expected_bytes, 0)); !fits) return fits.error();
    return IncomingFile::create(folder_, folders_, expected_bytes, floor_);
  }

  base::Result<std::unique_ptr<BlobWriter>> begin_reserved(std::int64_t expected_bytes) override {
    return IncomingFile::create(folder_, folders_, expected_bytes, nullptr);
  }

  base::Result<OpenFile> open(const BlobRef& ref) const override {
    OpenFile file(::open(full(ref.path).c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd() < 0 && errno == ENOENT) return damaged_blob(ref, "it is missing");
    struct stat about {};
    if (file.fd() < 0 || ::fstat(file.fd(), &about) != 0) return file_error(errno, "open a blob");
    if (about.st_size != ref.bytes)
      return damaged_blob(ref, "its size is now " + std::to_string(about.st_size) + " bytes");
    return file;
  }

  base::Result<std::string> read(const BlobRef& ref) const override;

  void unlink(const std::string& path) override { ::unlink(full(path).c_str()); }

  int collect_orphans(std::int64_t now_ms, std::int64_t age_ms, int limit, IsReferenced is_referenced,
                      void* context) override {
    return sweep_.step({.older_than_ms = now_ms - age_ms, .is_referenced = is_referenced, .context = context},
                       limit);
  }

 private:
  std::string full(const std::string& path) const { return folder_ + "/" + path; }

  const std::string folder_;
  const std::shared_ptr<BlobFolders> folders_;
  const std::shared_ptr<DiskFloor> floor_;
  OrphanSweep sweep_;
};

base::Result<std::string> FileBlobs::read(const BlobRef& ref) const {
  auto file = open(ref);
  if (!file) return file.error();
  auto bytes = read_blob(*file, ref.bytes);
  if (!bytes) return bytes;
  if (base::hex(base::sha256(*bytes)) != ref.sha256_hex) return damaged_blob(ref, "its content has changed");
  return bytes;
}

}  // namespace

base::Result<std::unique_ptr<Blobs>> open_file_blobs(const std::string& folder,
                                                     std::int64_t disk_free_min_bytes) {
  for (const std::string& path : {folder, folder + "/" + std::string(kIncomingFolder)}) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
      return file_error(errno, "create the blob folder");
  }
  return std::unique_ptr<Blobs>(std::make_unique<FileBlobs>(folder, disk_free_min_bytes));
}

namespace {

base::Result<Staged> staged(base::Result<std::unique_ptr<BlobWriter>> writer, std::string_view bytes) {
  if (!writer) return writer.error();
  if (auto written = (*writer)->append(bytes); !written) return written.error();
  return (*writer)->finish();
}

}  // namespace

base::Result<Staged> stage(Blobs& blobs, std::string_view bytes) {
  return staged(blobs.begin(static_cast<std::int64_t>(bytes.size())), bytes);
}

base::Result<Staged> stage_reserved(Blobs& blobs, std::string_view bytes) {
  return staged(blobs.begin_reserved(static_cast<std::int64_t>(bytes.size())), bytes);
}

}  // namespace millrace::storage
