#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/blobs/blobs.h"
#include "storage/db/db.h"
#include "storage/writer/writer.h"

// Inside storage: rows that name blobs and count their references (docs/design/delivery.md §9).
namespace millrace::storage {

// The staged files of one write. The operation claims them. The completion then reports to each file whether
// a row references it.
class BlobClaim {
 public:
  // A failed group is retried operation by operation, and each run starts with an empty claim.
  void begin() { taken_.clear(); }
  // Increments `refs` of the row with the same (sha256, tenant), or inserts a row that names the file.
  // Returns blobs.id. Throws DbError if `staged` has expired.
  std::int64_t take(Db& db, std::string_view tenant, const Staged& staged);
  // Call after the commit. Files that get no report are removed with their last owner.
  void committed();

 private:
  std::vector<std::pair<Staged, bool>> taken_;
};

// Wraps `done` so that a successful commit is first reported to the claimed files.
template <class T>
Callback<T> with_claim_commit(std::shared_ptr<BlobClaim> blob_claim, Callback<T> done) {
  return [blob_claim = std::move(blob_claim), done = std::move(done)](base::Result<T> result) {
    if (result) blob_claim->committed();
    done(std::move(result));
  };
}

std::optional<BlobRef> find_blob(Db& db, std::int64_t id);
// For a row that refers to the blob. kStoredDamaged, and a log line that names `referrer`, if its row is
// missing.
base::Result<BlobRef> referenced_blob(Db& db, std::int64_t id, const std::string& referrer);
std::int64_t blob_bytes(Db& db, std::optional<std::int64_t> id);  // 0: there is none
void add_ref(Db& db, std::int64_t id);
void drop_ref(Db& db, std::optional<std::int64_t> id);  // the row is deleted later (delete_unreferenced)
// Deletes rows without references. Returns the paths of their files, to be unlinked after the commit.
std::vector<std::string> delete_unreferenced(Db& db, int limit);

// True if a row references this file. The file name begins with the hash of its content.
bool is_path_referenced(Db& db, const std::string& path);

}  // namespace millrace::storage
