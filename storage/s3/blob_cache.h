#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "platform/base/result.h"
#include "storage/blobs/blobs.h"

namespace millrace::s3 {

// kStoredDamaged. Logs the object's key and `what` is wrong with it.
base::Error damaged_object(const storage::BlobRef& ref, const char* what);

// Local copies of blobs, in a folder that all processes of a host share. Their sizes together stay below a
// bound: the least recently opened ones are removed first. The content is checked against its SHA-256 when it
// is fetched, and when a process opens a copy that it has not checked, or that has changed since. Blocks on
// the disk. Thread-safe.
class BlobCache {
 public:
  struct Options {
    std::string folder;
    std::int64_t bytes_max = 0;
    // The cache leaves twice as many bytes free on the disk, so that it never takes the space of new work.
    std::int64_t disk_free_min_bytes = 0;
  };
  static base::Result<std::unique_ptr<BlobCache>> open(Options options);

  // Writes the content of a blob to `file` from its start.
  using Fetch = std::function<base::Status(int file)>;
  // Opens the copy; fetches it if there is none or if it is damaged. Concurrent calls for one blob in this
  // process fetch it once. The file stays readable after its copy was removed. A blob above the bound is
  // fetched for this call alone. kStoredDamaged: what was fetched does not have the blob's SHA-256.
  base::Result<storage::OpenFile> open(const storage::BlobRef& ref, const Fetch& fetch);
  // Keeps `file`, a complete file on the same file system with the blob's content, by a second link to it.
  void add(const storage::BlobRef& ref, const std::string& file);
  void remove(const std::string& path);
  // Removes copies until `bytes` more are free above twice the disk's minimum. False: there was nothing to
  // remove.
  bool make_room(std::int64_t bytes);

 private:
  struct Running;
  struct Entry;
  struct Stamp {
    ino_t inode;
    std::int64_t bytes, modified_ns;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  class Locked;

  explicit BlobCache(Options options, storage::OpenFile total);
  storage::OpenFile open_copy(const storage::BlobRef& ref);
  base::Result<storage::OpenFile> fetch_copy(const storage::BlobRef& ref, const Fetch& fetch);
  base::Result<storage::OpenFile> fetch_to(const std::string& incoming, const storage::BlobRef& ref,
                                           const Fetch& fetch, bool keeps);
  bool is_checked(const std::string& path, const Stamp& stamp);
  void set_checked(const std::string& path, const Stamp& stamp);
  bool reserve(std::int64_t bytes);
  void release(std::int64_t bytes);
  std::int64_t bound(std::int64_t total) const;
  std::int64_t remove_oldest(std::int64_t bytes_left);
  std::vector<Entry> scan() const;
  std::string full(const std::string& path) const { return options_.folder + "/" + path; }

  const Options options_;
  storage::OpenFile total_;  // holds the sum of all sizes; its lock guards it among processes
  std::mutex total_mutex_;   // the same among threads
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Running>> running_;
  std::map<std::string, Stamp> checked_;
};

}  // namespace millrace::s3
