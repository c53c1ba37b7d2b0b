#include "storage/blobs/image_files.h"

#include <memory>
#include <utility>

#include "storage/blobs/blob_rows.h"
#include "storage/db/db.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/sql.h"
#include "storage/tenants/quota_ledger.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kImageRowBytes = 256;

struct Intake {
  std::string tenant;
  std::vector<ImageFile> files;
  base::WallTime expires_at;
};

base::Result<bool> add_in(Tx& tx, const Intake& intake, BlobClaim& blob_claim) {
  for (const ImageFile& each : intake.files) {
    const std::int64_t blob = blob_claim.take(tx.db, intake.tenant, each.bytes);
    tx.db.prepare("INSERT INTO image_files (id, blob, expires_at) VALUES (?1, ?2, ?3)")
        .bind(each.id, blob, base::millis(intake.expires_at))
        .run();
    tx.quotas.add(tx.db, {intake.tenant, {}}, {.stored_bytes = each.bytes->ref().bytes});
  }
  return true;
}

int drop_expired_in(Tx& tx, int limit) {
  std::vector<std::int64_t> blobs;
  {
    auto s = tx.db.prepare(R"(
        DELETE FROM image_files
        WHERE id IN (SELECT id FROM image_files WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)
        RETURNING blob)"_sql);
    s.bind(base::millis(tx.now), limit);
    while (s.step()) blobs.push_back(s.integer(0));
  }
  for (const std::int64_t blob : blobs) {
    auto s = tx.db.prepare("SELECT tenant, bytes FROM blobs WHERE id = ?1");
    if (s.bind(blob).step()) tx.quotas.add(tx.db, {s.text(0), {}}, {.stored_bytes = -s.integer(1)});
    drop_ref(tx.db, blob);
  }
  return static_cast<int>(blobs.size());
}

}  // namespace

void ImageFiles::add(std::string tenant, std::vector<ImageFile> files, base::WallTime expires_at,
                     Callback<bool> done) {
  const std::size_t bytes = files.size() * kImageRowBytes;
  auto blob_claim = std::make_shared<BlobClaim>();
  Intake intake{std::move(tenant), std::move(files), expires_at};
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, bytes,
      [intake = std::move(intake), blob_claim](Tx& tx) {
        blob_claim->begin();
        return add_in(tx, intake, *blob_claim);
      },
      with_claim_commit<bool>(blob_claim, std::move(done)));
}

base::Result<OpenImage> ImageFiles::open(const base::Uuid& id) {
  const auto blob = read(store_.readers(), [&](Db& db) -> base::Result<BlobRef> {
    auto s = db.prepare("SELECT blob FROM image_files WHERE id = ?1 AND expires_at > ?2");
    if (!s.bind(id, base::millis(store_.clock().wall())).step())
      return base::error(base::Code::kNotFound, "There is no such image");
    return referenced_blob(db, s.integer(0), "image " + id.str());
  });
  if (!blob) return blob.error();
  if (!*blob) return blob->error();
  auto file = store_.blobs().open(**blob);
  if (!file) return file.error();
  return OpenImage{*std::move(file), (*blob)->bytes};
}

void ImageFiles::drop_expired(int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit](Tx& tx) { return may_delete_rows(tx) ? drop_expired_in(tx, limit) : 0; });
}

}  // namespace millrace::storage
