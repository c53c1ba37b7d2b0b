#include "storage/s3/blob_copy.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/crypto.h"
#include "storage/blobs/blob_files.h"
#include "storage/data_dir.h"
#include "storage/s3/s3_blobs.h"

namespace millrace::s3 {

using storage::BlobRef;
using storage::OpenFile;

namespace {

constexpr std::size_t kCopyThreads = 8;  // most of the time of a small blob is that of round trips
constexpr std::size_t kHashedTogether = 1u << 20;
constexpr std::chrono::seconds kProgressInterval{1};

enum class CopyOutcome : std::uint8_t { kCopied, kPresent, kUnread };
struct CopiedBlob {
  CopyOutcome outcome = CopyOutcome::kCopied;
  std::string reason = {};  // of kUnread
};
using CopyOne = std::function<base::Result<CopiedBlob>(const BlobRef&)>;

CopiedBlob unread(std::string reason) { return {CopyOutcome::kUnread, std::move(reason)}; }

// What is wrong with the content of `file`; empty: nothing.
base::Result<std::string> fault_of(const OpenFile& file, const BlobRef& ref) {
  struct stat about {};
  if (::fstat(file.fd(), &about) != 0) return storage::file_error(errno, "read a blob");
  if (about.st_size != ref.bytes)
    return "it has " + std::to_string(about.st_size) + " bytes instead of " + std::to_string(ref.bytes);
  base::Sha256 hash;
  std::string piece(kHashedTogether, '\0');
  for (std::int64_t at = 0;;) {
    const ssize_t got = ::pread(file.fd(), piece.data(), piece.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return "it cannot be read: " + std::system_category().message(errno);
    if (got == 0) break;
    hash.update(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
    at += got;
  }
  return base::hex(hash.finish()) == ref.sha256_hex ? "" : "its content has changed";
}

// A new file of `folder`/incoming, whose content the orphan collection removes if this process is killed.
class IncomingCopy {
 public:
  static base::Result<IncomingCopy> create(const std::string& folder) {
    std::string path = folder + "/" + std::string(storage::kIncomingFolder) + "/copy-XXXXXX";
    const int fd = ::mkostemp(path.data(), O_CLOEXEC);
    if (fd < 0) return storage::file_error(errno, "create an incoming file");
    return IncomingCopy(std::move(path), OpenFile(fd));
  }
  IncomingCopy(IncomingCopy&& other) noexcept
      : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}
  ~IncomingCopy() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  const OpenFile& file() const { return file_; }

  base::Status move_to(const std::string& target) {
    if (::fsync(file_.fd()) != 0) return storage::file_error(errno, "sync a blob");
    if (::rename(path_.c_str(), target.c_str()) != 0) return storage::file_error(errno, "rename a blob");
    path_.clear();
    return {};
  }

 private:
  IncomingCopy(std::string path, OpenFile file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  OpenFile file_;
};

// Copies many blobs at once and counts them.
class CopyRun {
 public:
  CopyRun(const std::vector<BlobRef>& blobs, CopyOne copy_one, const BlobsCopied& progress)
      : blobs_(blobs), copy_one_(std::move(copy_one)), progress_(progress) {}

  base::Result<BlobCopy> run() {
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < std::min(kCopyThreads, blobs_.size()); ++i)
        threads.emplace_back([this] { work(); });
    }
    if (!failed_) return failed_.error();
    if (progress_) progress_(state());
    return copy_;
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < blobs_.size(); i = next_++) {
      const auto done = copy_one_(blobs_[i]);
      const std::lock_guard lock(mutex_);
      if (!done) failed_ = done.error();
      if (!failed_) return;
      count(blobs_[i], *done);
    }
  }
  void count(const BlobRef& ref, const CopiedBlob& done) {
    ++done_;
    if (done.outcome == CopyOutcome::kUnread) {
      copy_.unread.push_back(ref.path + ": " + done.reason);
    } else {
      ++(done.outcome == CopyOutcome::kCopied ? copy_.copied : copy_.present);
      copy_.bytes += ref.bytes;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!progress_ || now - reported_ < kProgressInterval) return;
    reported_ = now;
    progress_(state());
  }
  BlobCopyProgress state() const { return {done_, static_cast<std::int64_t>(blobs_.size()), copy_.bytes}; }

  const std::vector<BlobRef>& blobs_;
  const CopyOne copy_one_;
  const BlobsCopied& progress_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  base::Status failed_;
  BlobCopy copy_;
  std::int64_t done_ = 0;
  std::chrono::steady_clock::time_point reported_ = std::chrono::steady_clock::now();
};

// The objects of a bucket and the files of a blob folder.
class BlobPair {
 public:
  BlobPair(const std::string& folder, const Bucket& bucket)
      : folder_(folder), client_(bucket.location, bucket.credentials, bucket.bounds) {}

  base::Status check() {
    const BucketCheck found = client_.check();
    return found.accepted ? found.reached : found.accepted;
  }

  base::Result<CopiedBlob> upload(const BlobRef& ref) {
    const auto is_stored = has_object(ref);
    if (!is_stored) return is_stored.error();
    if (*is_stored) return CopiedBlob{CopyOutcome::kPresent};
    const OpenFile file(::open(full(ref).c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd() < 0 && errno == ENOENT) return unread("it is missing");
    if (file.fd() < 0) return unread("it cannot be opened: " + std::system_category().message(errno));
    const auto fault = fault_of(file, ref);
    if (!fault) return fault.error();
    if (!fault->empty()) return unread(*fault);
    if (ref.bytes > kObjectBytesMax) return unread("it is too large for one object");
    if (auto stored = client_.put(ref.path, file.fd(), ref.bytes, ref.sha256_hex); !stored)
      return stored.error();
    return CopiedBlob{CopyOutcome::kCopied};
  }

  base::Result<CopiedBlob> download(const BlobRef& ref) {
    const auto is_stored = has_file(ref);
    if (!is_stored) return is_stored.error();
    if (*is_stored) return CopiedBlob{CopyOutcome::kPresent};
    auto incoming = IncomingCopy::create(folder_);
    if (!incoming) return incoming.error();
    auto fault = fetch(ref, incoming->file());
    if (!fault) return fault.error();
    if (!fault->empty()) return unread(*fault);
    if (auto moved = incoming->move_to(full(ref)); !moved) return moved.error();
    return CopiedBlob{CopyOutcome::kCopied};
  }

  base::Result<bool> has_file(const BlobRef& ref) const {
    const OpenFile file(::open(full(ref).c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd() < 0 && errno == ENOENT) return false;
    if (file.fd() < 0) return storage::file_error(errno, "open a blob");
    const auto fault = fault_of(file, ref);
    if (!fault) return fault.error();
    return fault->empty();
  }

 private:
  std::string full(const BlobRef& ref) const { return folder_ + "/" + ref.path; }

  // A server that knows no SHA-256 is asked for the content.
  base::Result<bool> has_object(const BlobRef& ref) {
    const auto found = client_.find(ref.path);
    if (!found && found.error().code == base::Code::kNotFound) return false;
    if (!found) return found.error();
    if (found->bytes != ref.bytes) return false;
    if (!found->sha256_base64.empty()) return found->sha256_base64 == base64_of_hex(ref.sha256_hex);
    const auto incoming = IncomingCopy::create(folder_);
    if (!incoming) return incoming.error();
    const auto fault = fetch(ref, incoming->file());
    if (!fault) return fault.error();
    return fault->empty();
  }

  // What is wrong with the object; empty: `file` has its content.
  base::Result<std::string> fetch(const BlobRef& ref, const OpenFile& file) {
    const auto fetched = client_.get(ref.path, ref.bytes, file.fd());
    if (!fetched && fetched.error().code == base::Code::kNotFound) return std::string("it is missing");
    if (!fetched && fetched.error().code == base::Code::kStoredDamaged)
      return std::string("it has another size");
    if (!fetched) return fetched.error();
    return fault_of(file, ref);
  }

  const std::string folder_;
  Client client_;
};

// Folders of the blobs, with their entries on the disk.
base::Status sync_shards(const std::vector<BlobRef>& blobs, const std::string& folder) {
  std::set<std::string> shards;
  for (const BlobRef& ref : blobs) shards.insert(ref.path.substr(0, 2));
  for (const std::string& shard : shards)
    if (auto synced = storage::sync_folder(folder + "/" + shard); !synced) return synced;
  return {};
}

base::Status make_shards(const std::vector<BlobRef>& blobs, const std::string& folder) {
  storage::BlobFolders folders(folder);
  for (const BlobRef& ref : blobs)
    if (auto made = folders.folder(ref.sha256_hex); !made) return made.error();
  return {};
}

base::Status check_space(const std::vector<BlobRef>& blobs, const std::string& folder,
                         std::int64_t disk_free_min_bytes) {
  std::int64_t needed = disk_free_min_bytes;
  for (const BlobRef& ref : blobs)
    if (storage::file_bytes(folder + "/" + ref.path) != ref.bytes) needed += ref.bytes;
  const std::int64_t free = storage::free_bytes(folder);
  if (free < 0 || needed <= free) return {};
  return base::error(base::Code::kOverloaded,
                     storage::mebibytes(needed - free) + " more must be free on the disk of " + folder);
}

}  // namespace

base::Result<BlobCopy> copy_blobs_to_bucket(const std::vector<BlobRef>& blobs, const std::string& folder,
                                            const Bucket& bucket, const BlobsCopied& progress) {
  if (auto opened = storage::open_file_blobs(folder, 0); !opened) return opened.error();
  BlobPair pair(folder, bucket);
  if (auto usable = pair.check(); !usable) return usable.error();
  return CopyRun(
             blobs, [&pair](const BlobRef& ref) { return pair.upload(ref); }, progress)
      .run();
}

base::Result<BlobCopy> copy_blobs_from_bucket(const std::vector<BlobRef>& blobs, const std::string& folder,
                                              std::int64_t disk_free_min_bytes, const Bucket& bucket,
                                              const BlobsCopied& progress) {
  if (auto opened = storage::open_file_blobs(folder, 0); !opened) return opened.error();
  if (auto fits = check_space(blobs, folder, disk_free_min_bytes); !fits) return fits.error();
  if (auto made = make_shards(blobs, folder); !made) return made.error();
  BlobPair pair(folder, bucket);
  if (auto usable = pair.check(); !usable) return usable.error();
  auto copied = CopyRun(
                    blobs, [&pair](const BlobRef& ref) { return pair.download(ref); }, progress)
                    .run();
  if (!copied) return copied;
  if (auto synced = sync_shards(blobs, folder); !synced) return synced.error();
  return copied;
}

}  // namespace millrace::s3
