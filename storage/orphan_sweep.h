#pragma once
#include <mutex>
#include <string>

#include <dirent.h>

#include "storage/blobs.h"

namespace millrace::storage {

// Walks the blob folder a few files at a time, again and again, and removes what no row names and nobody
// holds. Goes on where the last call stopped. Thread-safe.
class OrphanSweep {
 public:
  explicit OrphanSweep(std::string folder) : folder_(std::move(folder)) {}
  ~OrphanSweep();

  struct Question {
    std::int64_t older_than_ms = 0;  // last written before this wall time
    Blobs::IsNamed is_named = nullptr;
    void* context = nullptr;
  };
  int step(const Question& question, int limit);

 private:
  std::string next_path(int& folders_left);
  bool open_next_folder();
  bool remove_if_orphan(const std::string& path, const Question& question) const;

  const std::string folder_;
  std::mutex mutex_;
  DIR* listing_ = nullptr;
  int place_ = -1;  // -1: incoming, else the shard
};

}  // namespace millrace::storage
