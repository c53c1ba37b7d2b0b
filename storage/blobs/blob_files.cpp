#include "storage/blobs/blob_files.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/ids.h"
#include "platform/base/log.h"

namespace millrace::storage {
namespace {

std::string random_name() { return base::hex(base::random_bytes(16)); }

// A finished file. It is removed unless a row references it. Its descriptor holds the lock until then.
class StagedFile final : public StagedBlob {
 public:
  StagedFile(std::string folder, BlobRef ref, OpenFile file)
      : folder_(std::move(folder)), ref_(std::move(ref)), file_(std::move(file)) {}
  ~StagedFile() override {
    if (!referenced_) ::unlink(path().c_str());
  }

  const BlobRef& ref() const override { return ref_; }
  void set_referenced(bool is_referenced) override { referenced_ = is_referenced; }
  base::Result<OpenFile> open() const override {
    const int fd = ::open(path().c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return file_error(errno, "open a staged blob");
    return OpenFile(fd);
  }

 private:
  std::string path() const { return folder_ + "/" + ref_.path; }

  const std::string folder_;
  const BlobRef ref_;
  const OpenFile file_;
  std::atomic<bool> referenced_{false};
};

}  // namespace

OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}
OpenFile::OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

std::string new_blob_path(const std::string& sha256_hex) {
  return sha256_hex.substr(0, 2) + "/" + sha256_hex + "-" + random_name();
}

base::Error file_error(int error_number, std::string_view what) {
  base::log_error("store_blob_failed", {{"what", what}, {"error", std::strerror(error_number)}});
  if (error_number != ENOSPC && error_number != EDQUOT) {
    return base::error(
        base::Code::kInternal,
        "a file of the data directory could not be read or written; the gateway's log has the cause");
  }
  base::Error e = base::error(base::Code::kOverloaded, "the disk of the data directory is full");
  e.retry_after = std::chrono::seconds(30);
  return e;
}

base::Error damaged_blob(const BlobRef& ref, const std::string& what) {
  base::log_error("store_blob_damaged", {{"blob", ref.path}, {"bytes", ref.bytes}, {"what", what}});
  return base::error(base::Code::kStoredDamaged,
                     "A stored file that this request needs is missing or damaged on the gateway's disk. The "
                     "gateway's log names the file");
}

base::Result<std::string> read_blob(const OpenFile& file, std::int64_t bytes) {
  std::string content(static_cast<std::size_t>(bytes), '\0');
  std::size_t have = 0;
  while (have < content.size()) {
    const ssize_t got = ::read(file.fd(), content.data() + have, content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return file_error(got < 0 ? errno : EIO, "read a blob");
    have += static_cast<std::size_t>(got);
  }
  return content;
}

base::Status sync_folder(const std::string& folder) {
  const OpenFile file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.fd() < 0 || ::fsync(file.fd()) != 0) return file_error(errno, "sync a folder");
  return {};
}

base::Result<std::string> BlobFolders::folder(const std::string& sha256_hex) {
  std::string path = root_ + "/" + sha256_hex.substr(0, 2);
  std::atomic<bool>& is_synced = is_synced_[std::stoul(sha256_hex.substr(0, 2), nullptr, 16)];
  if (is_synced) return path;
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return file_error(errno, "create a blob folder");
  if (auto synced = sync_folder(root_); !synced) return synced.error();
  is_synced = true;
  return path;
}

base::Result<std::unique_ptr<BlobWriter>> IncomingFile::create(const std::string& folder,
                                                               std::shared_ptr<BlobFolders> folders,
                                                               std::int64_t expected_bytes,
                                                               std::shared_ptr<DiskFloor> floor) {
  std::string path = folder + "/" + std::string(kIncomingFolder) + "/" + random_name();
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return file_error(errno, "create an incoming file");
  std::unique_ptr<IncomingFile> file(
      new IncomingFile(folder, std::move(folders), std::move(path), fd, expected_bytes, std::move(floor)));
  if (::flock(fd, LOCK_SH | LOCK_NB) != 0) return file_error(errno, "lock an incoming file");
  return std::unique_ptr<BlobWriter>(std::move(file));
}

IncomingFile::IncomingFile(std::string folder, std::shared_ptr<BlobFolders> folders, std::string path, int fd,
                           std::int64_t expected_bytes, std::shared_ptr<DiskFloor> floor)
    : folder_(std::move(folder)),
      path_(std::move(path)),
      folders_(std::move(folders)),
      file_(fd),
      floor_(std::move(floor)),
      writer_(fd, expected_bytes, floor_.get()) {}

IncomingFile::~IncomingFile() {
  if (!finished_) ::unlink(path_.c_str());
}

base::Status IncomingFile::append(std::string_view bytes) {
  hash_.update(bytes);
  bytes_ += static_cast<std::int64_t>(bytes.size());
  return writer_.append(bytes);
}

base::Result<Staged> IncomingFile::finish() {
  if (finished_) return base::error(base::Code::kInternal, "the blob is finished already");
  if (auto done = complete(); !done) return done.error();
  auto ref = rename_to_final();
  if (!ref) return ref.error();
  finished_ = true;
  Staged staged = std::make_shared<StagedFile>(folder_, *ref, std::move(file_));
  const std::string shard = folder_ + "/" + ref->path.substr(0, 2);
  if (auto synced = sync_folder(shard); !synced) return synced.error();
  return staged;
}

base::Status IncomingFile::complete() {
  if (auto written = writer_.finish(); !written) return written;
  if (::fsync(file_.fd()) != 0) return file_error(errno, "sync a blob");
  return {};
}

base::Result<BlobRef> IncomingFile::rename_to_final() {
  const std::string sha256 = base::hex(hash_.finish());
  BlobRef ref{sha256, new_blob_path(sha256), bytes_};
  if (auto folder = folders_->folder(sha256); !folder) return folder.error();
  const std::string target = folder_ + "/" + ref.path;
  if (::rename(path_.c_str(), target.c_str()) != 0) return file_error(errno, "rename a blob");
  return ref;
}

namespace {

constexpr int kShards = 256;

std::string folder_at(int place) {
  if (place < 0) return std::string(kIncomingFolder);
  std::array<char, 3> name{};
  std::snprintf(name.data(), name.size(), "%02x", static_cast<unsigned>(place) & 0xffu);
  return name.data();
}

}  // namespace

OrphanSweep::~OrphanSweep() {
  if (listing_ != nullptr) ::closedir(listing_);
}

int OrphanSweep::step(const Query& query, int limit) {
  std::lock_guard lock(mutex_);
  int removed = 0;
  int folders_left = kShards + 1;  // at most one full round
  for (int looked = 0; looked < limit; ++looked) {
    const std::string path = next_path(folders_left);
    if (path.empty()) break;
    if (remove_if_orphan(path, query)) ++removed;
  }
  return removed;
}

std::string OrphanSweep::next_path(int& folders_left) {
  while (folders_left > 0) {
    if (listing_ != nullptr || open_next_folder()) {
      while (const dirent* entry = ::readdir(listing_)) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") return folder_at(place_) + "/" + std::string(name);
      }
      ::closedir(listing_);
      listing_ = nullptr;
    }
    --folders_left;
  }
  return {};
}

bool OrphanSweep::open_next_folder() {
  place_ = place_ + 1 < kShards ? place_ + 1 : -1;
  listing_ = ::opendir((folder_ + "/" + folder_at(place_)).c_str());
  return listing_ != nullptr;
}

// Takes the lock before it asks the database. Whoever staged the file holds the lock until the transaction
// has ended; afterwards the row exists or never will.
bool OrphanSweep::remove_if_orphan(const std::string& path, const Query& query) const {
  const std::string full = folder_ + "/" + path;
  const OpenFile file(::open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat about {};
  if (file.fd() < 0 || ::fstat(file.fd(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  const std::int64_t written_ms =
      static_cast<std::int64_t>(about.st_mtim.tv_sec) * 1000 + about.st_mtim.tv_nsec / 1'000'000;
  if (written_ms >= query.older_than_ms) return false;
  if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) return false;
  if (query.is_referenced(query.context, path)) return false;
  return ::unlink(full.c_str()) == 0;
}

}  // namespace millrace::storage
