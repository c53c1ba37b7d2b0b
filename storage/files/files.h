#pragma once
#include <optional>
#include <string>
#include <vector>

#include "schemas/files/stored_file.h"
#include "storage/blobs/blobs.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/store.h"
#include "storage/tenants/quota_ledger.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

struct NewFile {
  schemas::StoredFile about;  // without its bytes and their hash
  Staged content;
};

// Which files of a tenant, and in which order.
struct FileListQuery {
  int limit = 0;
  int skip = 0;
  bool is_oldest_first = false;
  std::optional<base::Uuid> after{};  // in this order
  std::string purpose{};              // empty: all
};

// The files of clients, by tenant. Their bytes count against `stored_bytes` of the tenant and of the key that
// uploaded them. A file that has expired is not found. Writes never block; reads block: for pool threads.
class Files {
 public:
  explicit Files(Store& store) : store_(store) {}

  // kQuotaFull: its bytes exceed `stored_bytes`.
  void add(NewFile file, IdempotentCall call, ReplyBuilder<schemas::StoredFile> reply,
           Callback<CallReply> done);
  base::Result<schemas::StoredFile> file(const std::string& tenant, const base::Uuid& id);  // kNotFound
  base::Result<std::vector<schemas::StoredFile>> list(const std::string& tenant, const FileListQuery& query);
  // The number of all files of a tenant with this purpose, at most `most`; empty: with any.
  base::Result<std::int64_t> count(const std::string& tenant, const std::string& purpose, std::int64_t most);
  // Its tenant, for a signed URL; kNotFound.
  base::Result<std::string> owner(const base::Uuid& id);
  // Its bytes; kNotFound. `read_content` checks their hash.
  base::Result<OpenFile> open(const std::string& tenant, const base::Uuid& id);
  base::Result<std::string> read_content(const std::string& tenant, const base::Uuid& id);
  // Deletes it and replies with its last state; kNotFound. Jobs that use it keep its content.
  void remove(base::Uuid id, IdempotentCall call, ReplyBuilder<schemas::StoredFile> reply,
              Callback<CallReply> done);
  // Deletes expired rows; their bytes are removed by the next JobMaintenance::drop_blobs.
  void drop_expired(int limit, Callback<int> done);

 private:
  base::Result<BlobRef> blob_of(const std::string& tenant, const base::Uuid& id);

  Store& store_;
};

base::Error no_such_file();  // kNotFound

// Inside storage: adds a file with this blob, whose reference it takes over. Its bytes count for `owner`; the
// caller has checked the quotas.
void insert_file(Tx& tx, const Owner& owner, const schemas::StoredFile& file, std::int64_t blob);

// Inside storage: the blob of a file that has not expired (blobs.id), for a job that uses it.
std::optional<std::int64_t> blob_of_file(Db& db, const std::string& tenant, const base::Uuid& id,
                                         base::WallTime now);

}  // namespace millrace::storage
