#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/blobs.h"
#include "storage/sqlite.h"
#include "storage/writer.h"

// Inside storage: the rows that name blobs and count who needs them (delivery.md, Blobs).
namespace millrace::storage {

// The staged files of one move. The operation takes them; the completion tells each whether a row names its
// file.
class Adoption {
 public:
  // A group that failed is tried again operation by operation: each run begins anew.
  void begin() { taken_.clear(); }
  // Raises the refs of the row with the same (sha256, tenant), or makes one that names the file. Returns
  // blobs.id.
  std::int64_t take(Db& db, std::string_view tenant, const Staged& staged);
  // After the commit. Files of which nothing was told go with their last owner.
  void committed();

 private:
  std::vector<std::pair<Staged, bool>> taken_;
};

// `done`, after the files were told.
template <class T>
Done<T> adopting(std::shared_ptr<Adoption> adoption, Done<T> done) {
  return [adoption = std::move(adoption), done = std::move(done)](base::Result<T> result) {
    if (result) adoption->committed();
    done(std::move(result));
  };
}

std::optional<BlobRef> find_blob(Db& db, std::int64_t id);
void add_ref(Db& db, std::int64_t id);
void drop_ref(Db& db, std::optional<std::int64_t> id);  // the row goes later (drop_blobs)

// True if a row names this file, whose name begins with the hash of its content.
bool names_path(Db& db, const std::string& path);

}  // namespace millrace::storage
