#include "storage/secret_rows.h"

namespace millrace::storage {

void insert_secret(Db& db, const base::Uuid& job, std::string_view sealed) {
  db.prepare("INSERT INTO job_secrets (job, sealed) VALUES (?1, ?2)").bind(job, BlobView{sealed}).run();
}

std::string find_secret(Db& db, const base::Uuid& job) {
  auto s = db.prepare("SELECT sealed FROM job_secrets WHERE job = ?1");
  return s.bind(job).step() ? s.blob(0) : std::string();
}

void wipe_secret(Db& db, const base::Uuid& job) {
  db.prepare("DELETE FROM job_secrets WHERE job = ?1").bind(job).run();
}

}  // namespace millrace::storage
