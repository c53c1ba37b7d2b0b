#pragma once
#include <string>
#include <vector>

#include "storage/blobs.h"
#include "storage/store.h"
#include "storage/writer.h"

namespace millrace::storage {

struct ImageFile {
  base::Uuid id;
  Staged bytes;
};
struct OpenImage {
  OpenFile file;
  std::int64_t bytes = 0;
};

// Images that models have made, kept for a while under ids that only a signed URL tells. Moves never block;
// reads block: pool threads.
class ImageFiles {
 public:
  explicit ImageFiles(Store& store) : store_(store) {}

  // All of them or none; `tenant` pays for the bytes.
  void add(std::string tenant, std::vector<ImageFile> files, base::WallTime expires_at, Done<bool> done);
  base::Result<OpenImage> open(const base::Uuid& id);  // kNotFound: no such image, or no longer
  // Rows past their time go, and their bytes with the next JobUpkeep::drop_blobs.
  void drop_expired(int limit, Done<int> done);

 private:
  Store& store_;
};

}  // namespace millrace::storage
