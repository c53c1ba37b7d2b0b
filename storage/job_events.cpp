#include "storage/job_events.h"

#include <nlohmann/json.hpp>

namespace millrace::storage {

void tell(Tx& tx, const JobRow& row) {
  tx.commit.changes.push_back({row.job(), row.tenant, row.version, row.status});
}

void record(Tx& tx, JobRow& row, std::string_view type, std::string_view data) {
  if (row.parent) return;
  ++row.version;
  tx.db.prepare("INSERT INTO job_events (job, version, at, type, data) VALUES (?1, ?2, ?3, ?4, ?5)")
      .bind(row.id, row.version, base::millis(tx.now), type, data)
      .run();
  tell(tx, row);
}

void record_waking(Tx& tx, const JobRow& row) {
  schemas::JobView waking;
  waking.waking = true;
  tx.db.prepare("INSERT INTO job_events (job, version, at, type, data) VALUES (?1, 1, ?2, ?3, '{}')")
      .bind(row.id, row.created_at, schemas::public_status(waking))
      .run();
}

std::string error_data(const schemas::JobError& error) {
  nlohmann::json data = {{"code", base::name(error.code)}, {"message", error.message}};
  if (!error.param.empty()) data["param"] = error.param;
  return data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace millrace::storage
