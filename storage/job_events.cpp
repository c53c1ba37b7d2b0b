#include "storage/job_events.h"

#include <nlohmann/json.hpp>

namespace millrace::storage {
namespace {

bool is_waking(const JobRow& row) {
  return row.status == schemas::JobStatus::kQueued && row.run_at == kWaitsForMachine;
}

}  // namespace

void tell(Tx& tx, const JobRow& row) {
  tx.commit.changes.push_back({row.job(), row.tenant, row.version, row.status, is_waking(row)});
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
  tx.db.prepare("INSERT INTO job_events (job, version, at, type, data) VALUES (?1, 1, ?2, ?3, '{}')")
      .bind(row.id, row.created_at, schemas::public_status(row.status, true))
      .run();
}

std::string error_data(const schemas::JobError& error) {
  nlohmann::json data = {{"code", base::name(error.code)}, {"message", error.message}};
  if (!error.param.empty()) data["param"] = error.param;
  return data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace millrace::storage
