#include "storage/job_records.h"

#include <unordered_map>
#include <utility>

#include "storage/blob_rows.h"
#include "storage/failures.h"
#include "storage/job_views.h"
#include "storage/kind_rules.h"
#include "storage/last_id.h"
#include "storage/payload_rows.h"
#include "storage/readers.h"
#include "storage/secret_rows.h"
#include "storage/upkeep_steps.h"

namespace millrace::storage {
namespace {

using Named = std::vector<std::pair<base::Uuid, std::string>>;

JobRecord without_artifacts(Db& db, const Store::Options& options, const JobRow& row) {
  JobRecord record;
  record.job = *find_view(db, row.id, options);
  record.lane_key = row.lane_key;
  if (auto spec = find_spec(db, row.spec)) record.spec = std::move(spec->payload);
  record.result = find_result(db, row.result);
  return record;
}

// A page of a lane of one tenant and kind, newest first, before an id.
struct LanePage {
  const std::string& tenant;
  schemas::Kind kind;
  const std::string& lane_key;
  int limit;
  base::Uuid before;
};

std::vector<base::Uuid> ids_of(Db& db, const LanePage& page) {
  auto s = db.prepare(
      "SELECT id FROM jobs INDEXED BY jobs_lane WHERE lane_key = ?1 AND parent_id IS NULL AND id < ?2 "
      "AND tenant = ?3 AND kind = ?4 ORDER BY id DESC LIMIT ?5");
  s.bind(page.lane_key, page.before, page.tenant, page.kind, page.limit);
  return ids(s);
}

// The artifacts of all jobs of the page, read with one statement.
std::unordered_map<base::Uuid, Named, base::UuidHash> artifacts_of(Db& db, const LanePage& page) {
  std::unordered_map<base::Uuid, Named, base::UuidHash> found;
  if (!kind_rules(page.kind).leaves_artifacts) return found;
  auto s = db.prepare(
      "SELECT job, id, name FROM artifacts INDEXED BY artifacts_of WHERE job IN (SELECT id FROM jobs "
      "INDEXED BY jobs_lane WHERE lane_key = ?1 AND parent_id IS NULL AND id < ?2 AND tenant = ?3 "
      "AND kind = ?4 ORDER BY id DESC LIMIT ?5) ORDER BY job, id");
  s.bind(page.lane_key, page.before, page.tenant, page.kind, page.limit);
  while (s.step()) found[s.uuid(0)].emplace_back(s.uuid(1), s.text(2));
  return found;
}

Named artifacts_of(Db& db, const JobRow& row) {
  Named found;
  if (!kind_rules(row.kind).leaves_artifacts) return found;
  auto s = db.prepare("SELECT id, name FROM artifacts INDEXED BY artifacts_of WHERE job = ?1 ORDER BY id");
  s.bind(row.id);
  while (s.step()) found.emplace_back(s.uuid(0), s.text(1));
  return found;
}

}  // namespace

JobRecord record_of(Db& db, const Store::Options& options, const JobRow& row) {
  JobRecord record = without_artifacts(db, options, row);
  record.artifacts = artifacts_of(db, row);
  return record;
}

base::Result<JobRecord> JobQueries::record(const std::string& tenant, const schemas::JobId& job) {
  auto record = read(store_.readers(), [&](Db& db) -> std::optional<JobRecord> {
    const auto row = find_root(db, tenant, job);
    if (!row) return std::nullopt;
    return record_of(db, store_.options(), *row);
  });
  if (!record) return record.error();
  if (!*record) return no_such_job();
  return std::move(**record);
}

base::Result<StoredInput> JobQueries::input(const std::string& tenant, const schemas::JobId& job) {
  auto input = read(store_.readers(), [&](Db& db) -> std::optional<StoredInput> {
    const auto row = find_root(db, tenant, job);
    if (!row) return std::nullopt;
    StoredInput found;
    if (auto spec = find_spec(db, row->spec)) found.spec = std::move(spec->payload);
    if (row->input) found.input = find_blob(db, *row->input);
    return found;
  });
  if (!input) return input.error();
  if (!*input) return no_such_job();
  return std::move(**input);
}

base::Result<std::vector<JobRecord>> JobQueries::lane(const std::string& tenant, schemas::Kind kind,
                                                      const std::string& lane_key, int limit,
                                                      std::optional<base::Uuid> before) {
  if (limit <= 0) return std::vector<JobRecord>();
  return read(store_.readers(), [&](Db& db) {
    std::vector<JobRecord> records;
    const LanePage page{tenant, kind, lane_key, limit, before.value_or(last_id())};
    auto artifacts = artifacts_of(db, page);
    for_each_job(db, ids_of(db, page), [&](const JobRow& row) {
      records.push_back(without_artifacts(db, store_.options(), row));
      if (const auto found = artifacts.find(row.id); found != artifacts.end()) {
        records.back().artifacts = std::move(found->second);
      }
    });
    return records;
  });
}

base::Result<std::string> JobQueries::secret(const schemas::JobId& job) {
  return read(store_.readers(), [&](Db& db) { return find_secret(db, job.uuid); });
}

}  // namespace millrace::storage
