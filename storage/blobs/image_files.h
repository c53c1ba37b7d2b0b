#pragma once
#include <string>
#include <vector>

#include "storage/blobs/blobs.h"
#include "storage/store.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

struct ImageFile {
  base::Uuid id;
  Staged bytes;
};
struct OpenImage {
  OpenFile file;
  std::int64_t bytes = 0;
};

// Images that models have generated. They are stored for a limited time under ids that only a signed URL
// contains. Writes never block; reads block: for pool threads.
class ImageFiles {
 public:
  explicit ImageFiles(Store& store) : store_(store) {}

  // Adds all files or none; the bytes count for `tenant`.
  void add(std::string tenant, std::vector<ImageFile> files, base::WallTime expires_at, Callback<bool> done);
  base::Result<OpenImage> open(const base::Uuid& id);  // kNotFound: no such image, or it has expired
  // Deletes expired rows; their bytes are removed by the next JobMaintenance::drop_blobs.
  void drop_expired(int limit, Callback<int> done);

 private:
  Store& store_;
};

}  // namespace millrace::storage
