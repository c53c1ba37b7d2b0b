#include <array>
#include <utility>

#include "storage/job_queries.h"
#include "storage/job_rows.h"
#include "storage/job_views.h"
#include "storage/payload_rows.h"
#include "storage/readers.h"
#include "storage/secret_rows.h"
#include "storage/upkeep_steps.h"

namespace millrace::storage {
namespace {

base::Uuid last_id() {
  std::array<std::uint8_t, 16> bytes{};
  bytes.fill(0xFF);
  return base::Uuid(bytes);
}

JobRecord record_of(Db& db, const Store::Options& options, const JobRow& row) {
  JobRecord record;
  record.job = *find_view(db, row.id, options);
  record.lane_key = row.lane_key;
  if (auto spec = find_spec(db, row.spec)) record.spec = std::move(spec->payload);
  record.result = find_result(db, row.result);
  return record;
}

std::vector<base::Uuid> ids_of_lane(Db& db, const std::string& tenant, schemas::Kind kind,
                                    const std::string& lane_key, int limit, const base::Uuid& before) {
  auto s = db.prepare(
      "SELECT id FROM jobs INDEXED BY jobs_lane WHERE lane_key = ?1 AND parent_id IS NULL AND id < ?2 "
      "AND tenant = ?3 AND kind = ?4 ORDER BY id DESC LIMIT ?5");
  s.bind(lane_key, before, tenant, kind, limit);
  return ids(s);
}

}  // namespace

base::Result<JobRecord> JobQueries::record(const std::string& tenant, const schemas::JobId& job) {
  auto record = read(store_.readers(), [&](Db& db) -> std::optional<JobRecord> {
    const auto row = find_root(db, tenant, job);
    if (!row) return std::nullopt;
    return record_of(db, store_.options(), *row);
  });
  if (!record) return record.error();
  if (!*record) return base::error(base::Code::kNotFound, "no such job");
  return std::move(**record);
}

base::Result<std::vector<JobRecord>> JobQueries::lane(const std::string& tenant, schemas::Kind kind,
                                                      const std::string& lane_key, int limit,
                                                      std::optional<base::Uuid> before) {
  if (limit <= 0) return std::vector<JobRecord>();
  return read(store_.readers(), [&](Db& db) {
    std::vector<JobRecord> records;
    const auto found = ids_of_lane(db, tenant, kind, lane_key, limit, before.value_or(last_id()));
    for_each_job(db, found,
                 [&](const JobRow& row) { records.push_back(record_of(db, store_.options(), row)); });
    return records;
  });
}

base::Result<std::string> JobQueries::secret(const schemas::JobId& job) {
  return read(store_.readers(), [&](Db& db) { return find_secret(db, job.uuid); });
}

}  // namespace millrace::storage
