#pragma once
#include <mutex>
#include <string>

#include <dirent.h>

#include "storage/blobs.h"

namespace millrace::storage {

// Walks the blob folder repeatedly, a few files per step, and removes files that no row references and no
// process holds. Each step continues where the last one stopped. Thread-safe.
class OrphanSweep {
 public:
  explicit OrphanSweep(std::string folder) : folder_(std::move(folder)) {}
  ~OrphanSweep();

  struct Question {
    std::int64_t older_than_ms = 0;  // only files last written before this wall time
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
  int place_ = -1;  // -1: incoming; otherwise the number of the folder
};

}  // namespace millrace::storage
