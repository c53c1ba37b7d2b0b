#include "storage/jobs/job_queries.h"

#include <unordered_map>
#include <utility>

#include "schemas/jobs/job_name.h"
#include "storage/blobs/blob_rows.h"
#include "storage/db/columns.h"
#include "storage/db/db.h"
#include "storage/jobs/job_rows.h"
#include "storage/jobs/kind_rules.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/jobs/payload_rows.h"
#include "storage/sql.h"
#include "storage/writer/readers.h"
#include "storage/writer/store_clock.h"

namespace millrace::storage {
namespace {

std::optional<base::WallTime> wall(std::optional<std::int64_t> ms) {
  if (!ms) return std::nullopt;
  return base::wall_from(*ms);
}

// A job that was split is claimed once more to merge its parts; this claim is not shown as another attempt.
int shown_attempt(std::int64_t attempt, std::optional<std::int64_t> of_the_split) {
  return static_cast<int>(of_the_split && attempt > *of_the_split ? attempt - 1 : attempt);
}

}  // namespace

std::string find_name(Db& db, const schemas::JobId& job) {
  if (!schemas::may_have_name(job.kind)) return {};
  auto s = db.prepare(R"(
          SELECT bytes, blob, hash, name FROM job_specs
          WHERE id = (SELECT spec FROM jobs WHERE id = ?1))"_sql);
  if (!s.bind(job.uuid).step()) return {};
  if (s.optional_integer(1)) return s.text(3);
  const auto spec = payload_at(db, s, 0, base::Code::kRequestDamaged, "job_specs of " + job.str());
  return schemas::job_name(job.kind, spec.bytes);
}

namespace {

// Deadline, run_at and end of the result, by the present wall clock. `s` is the row of find_view.
void read_times(Db& db, const Statement& s, const Store::Options& options, schemas::JobView& view) {
  const std::chrono::milliseconds jumped = clock_jumps(db);
  const std::chrono::milliseconds jumped_since = jumped - std::chrono::milliseconds(s.integer(23));
  const auto schedule = static_cast<Schedule>(s.integer(24));
  view.deadline = base::wall_from(s.integer(11));
  if (schedule == Schedule::kNone) view.deadline += jumped_since;
  if (schedule == Schedule::kDelay) view.deadline += jumped;
  if (schedule != Schedule::kNone) {
    view.run_at = base::wall_from(s.integer(25));
    if (schedule == Schedule::kDelay) *view.run_at += jumped;
  }
  if (view.completed_at) {
    const auto age = kind_rules(view.id.kind).keeps_result ? options.job_age : options.result_age;
    view.result_expires_at = *view.completed_at + jumped_since + age;
  }
}

}  // namespace

std::optional<schemas::JobView> find_view(Db& db, const base::Uuid& id, const Store::Options& options) {
  auto s = db.prepare(R"(
      SELECT kind, tenant, status, model, priority, attempt, version, cancel_requested, created_at,
          started_at, completed_at, deadline, progress_done, progress_total, error_code,
          error_message, retry_of, result IS NOT NULL, status = {queued}
          AND run_at = {waits_for_machine},
          CASE WHEN error_code IS NOT NULL THEN (SELECT json_extract(data, '$.param') FROM job_events
          WHERE job = jobs.id AND version = jobs.version) END,
          CASE WHEN children > 0 THEN (SELECT json_extract(data, '$.attempt') FROM job_events
          WHERE job = jobs.id AND type = 'running' AND version < (SELECT version FROM job_events
          WHERE job = jobs.id AND type = 'waiting' ORDER BY version LIMIT 1) ORDER BY version DESC
          LIMIT 1) END,
          CASE WHEN status >= {first_unsuccessful} THEN (SELECT max(id) FROM jobs AS retry
          WHERE retry.retry_of = jobs.id) END, metadata,
          jumped_ms, schedule, run_at
      FROM jobs
      WHERE id = ?1)"_sql);
  if (!s.bind(id).step()) return std::nullopt;
  schemas::JobView view;
  view.id = {static_cast<schemas::Kind>(s.integer(0)), id};
  view.tenant = s.text(1);
  view.status = static_cast<schemas::JobStatus>(s.integer(2));
  view.model = s.text(3);
  view.priority = static_cast<int>(s.integer(4));
  view.attempt = shown_attempt(s.integer(5), s.optional_integer(20));
  view.version = s.integer(6);
  view.cancel_requested = s.integer(7) != 0;
  view.created_at = base::wall_from(s.integer(8));
  view.started_at = wall(s.optional_integer(9));
  view.completed_at = wall(s.optional_integer(10));
  read_times(db, s, options, view);
  view.progress_done = static_cast<int>(s.integer(12));
  view.progress_total = static_cast<int>(s.integer(13));
  if (const auto code = s.optional_text(14)) view.error = {base::code_named(*code), s.text(15), s.text(19)};
  if (const auto old = s.optional_uuid(16)) view.retry_of = schemas::JobId{view.id.kind, *old};
  if (const auto retry = s.optional_uuid(21)) view.retried_by = schemas::JobId{view.id.kind, *retry};
  if (auto metadata = s.optional_text(22)) view.metadata = *std::move(metadata);
  view.has_result = s.integer(17) != 0;
  view.waking = s.integer(18) != 0;
  view.scheduled = view.run_at.has_value();
  return view;
}

std::optional<schemas::JobView> find_named_view(Db& db, const base::Uuid& id, const Store::Options& options) {
  auto view = find_view(db, id, options);
  if (view) view->name = find_name(db, view->id);
  return view;
}

namespace {

std::optional<schemas::JobView> root_view(Db& db, const Store& store, const std::string& tenant,
                                          const schemas::JobId& job) {
  if (!find_root(db, tenant, job)) return std::nullopt;
  return find_named_view(db, job.uuid, store.options());
}

std::string part_name(const base::Uuid& root, int index) {
  return "job_parts " + root.str() + " " + std::to_string(index);
}

std::vector<StoredPart> parts_of(Db& db, const base::Uuid& root) {
  std::vector<StoredPart> parts;
  auto s = db.prepare(R"(
          SELECT part_index, bytes, blob, hash FROM job_parts
          WHERE root = ?1
          ORDER BY part_index)"_sql);
  s.bind(root);
  while (s.step()) {
    const auto index = static_cast<int>(s.integer(0));
    parts.push_back({index, payload_at(db, s, 1, base::Code::kResultDamaged, part_name(root, index))});
  }
  return parts;
}

std::vector<PartSize> sizes_of(Db& db, const base::Uuid& root) {
  std::vector<PartSize> sizes;
  auto s = db.prepare(R"(
      SELECT p.part_index, COALESCE(b.bytes, length(p.bytes), 0)
      FROM job_parts p LEFT JOIN blobs b ON b.id = p.blob
      WHERE p.root = ?1
      ORDER BY p.part_index)"_sql);
  s.bind(root);
  while (s.step()) sizes.push_back({static_cast<int>(s.integer(0)), static_cast<std::size_t>(s.integer(1))});
  return sizes;
}

// Version 1 is not stored (0001_jobs.sql), except for a job that waited for its machine.
std::vector<schemas::JobEvent> events_of(Db& db, const JobRow& row, std::int64_t after_version, int limit) {
  std::vector<schemas::JobEvent> events;
  if (limit <= 0) return events;
  auto s = db.prepare(R"(
      SELECT version, at, type, data FROM job_events
      WHERE job = ?1 AND version > ?2
      ORDER BY version LIMIT ?3)"_sql);
  s.bind(row.id, after_version, limit);
  while (s.step()) events.push_back({s.integer(0), base::wall_from(s.integer(1)), s.text(2), s.text(3)});
  const bool has_first = after_version >= 1 || (!events.empty() && events.front().version == 1);
  if (has_first) return events;
  events.insert(events.begin(), {1, base::wall_from(row.created_at), "queued", "{}"});
  if (events.size() > static_cast<std::size_t>(limit)) events.pop_back();
  return events;
}

}  // namespace

base::Result<schemas::JobView> JobQueries::job(const std::string& tenant, const schemas::JobId& job) {
  auto view = read(store_.readers(), [&](Db& db) { return root_view(db, store_, tenant, job); });
  if (!view) return view.error();
  if (!*view) return no_such_job();
  return **view;
}

base::Result<std::vector<schemas::JobView>> JobQueries::jobs(const std::string& tenant,
                                                             const std::vector<schemas::JobId>& ids) {
  return read(store_.readers(), [&](Db& db) {
    std::vector<schemas::JobView> views;
    for (const auto& id : ids) {
      if (auto view = root_view(db, store_, tenant, id)) views.push_back(std::move(*view));
    }
    return views;
  });
}

base::Result<std::vector<schemas::JobEvent>> JobQueries::events(const std::string& tenant,
                                                                const schemas::JobId& job,
                                                                std::int64_t after_version, int limit) {
  auto events = read(store_.readers(), [&](Db& db) -> std::optional<std::vector<schemas::JobEvent>> {
    const auto row = find_root(db, tenant, job);
    if (!row) return std::nullopt;
    return events_of(db, *row, after_version, limit);
  });
  if (!events) return events.error();
  if (!*events) return no_such_job();
  return std::move(**events);
}

base::Error damaged_payload(base::Code code) {
  if (code == base::Code::kRequestDamaged) {
    return base::error(code,
                       "The stored request of this job is damaged on the gateway's disk, so it was not used. "
                       "Send it again. The gateway's log names the row");
  }
  return base::error(code,
                     "The stored result of this job is damaged on the gateway's disk, so it is not sent. Run "
                     "the job again. The gateway's log names the row");
}

base::Result<StoredResult> JobQueries::result(const std::string& tenant, const schemas::JobId& job) {
  auto result = read(store_.readers(), [&](Db& db) -> std::optional<StoredResult> {
    const auto row = find_root(db, tenant, job);
    if (!row) return std::nullopt;
    return StoredResult{*find_view(db, row->id, store_.options()), find_result(db, row->result)};
  });
  if (!result) return result.error();
  if (!*result) return no_such_job();
  return std::move(**result);
}

base::Result<std::vector<PartSize>> JobQueries::part_sizes(const std::string& tenant,
                                                           const schemas::JobId& root) {
  auto sizes = read(store_.readers(), [&](Db& db) -> std::optional<std::vector<PartSize>> {
    if (!find_root(db, tenant, root)) return std::nullopt;
    return sizes_of(db, root.uuid);
  });
  if (!sizes) return sizes.error();
  if (!*sizes) return no_such_job();
  return std::move(**sizes);
}

base::Result<StoredPayload> JobQueries::part(const std::string& tenant, const schemas::JobId& root,
                                             int index) {
  auto part = read(store_.readers(), [&](Db& db) -> std::optional<StoredPayload> {
    if (!find_root(db, tenant, root)) return std::nullopt;
    auto s = db.prepare("SELECT bytes, blob, hash FROM job_parts WHERE root = ?1 AND part_index = ?2");
    if (!s.bind(root.uuid, index).step()) return std::nullopt;
    return payload_at(db, s, 0, base::Code::kResultDamaged, part_name(root.uuid, index));
  });
  if (!part) return part.error();
  if (!*part) return base::error(base::Code::kNotFound, "There is no such part");
  return std::move(**part);
}

base::Result<std::vector<int>> JobQueries::part_indexes(const schemas::JobId& root) {
  return read(store_.readers(), [&](Db& db) {
    std::vector<int> indexes;
    auto s = db.prepare("SELECT part_index FROM job_parts WHERE root = ?1 ORDER BY part_index");
    s.bind(root.uuid);
    while (s.step()) indexes.push_back(static_cast<int>(s.integer(0)));
    return indexes;
  });
}

base::Result<std::chrono::milliseconds> JobQueries::engine_time(const schemas::JobId& root) {
  return read(store_.readers(), [&](Db& db) {
    auto s = db.prepare("SELECT engine_ms FROM jobs WHERE id = ?1");
    s.bind(root.uuid);
    return std::chrono::milliseconds(s.step() ? s.integer(0) : 0);
  });
}

base::Result<std::vector<StoredPart>> JobQueries::all_parts(const schemas::JobId& root) {
  return read(store_.readers(), [&](Db& db) { return parts_of(db, root.uuid); });
}

base::Result<std::vector<JobQueries::ChildEnd>> JobQueries::children(const schemas::JobId& parent) {
  bool is_damaged = false;
  auto ends = read(store_.readers(), [&](Db& db) {
    std::vector<ChildEnd> found;
    auto s = db.prepare(R"(
        SELECT child_index, spec, status, error_code, error_message FROM jobs
        WHERE parent_id = ?1
        ORDER BY child_index)"_sql);
    s.bind(parent.uuid);
    while (s.step()) {
      ChildEnd end;
      end.child_index = static_cast<int>(s.integer(0));
      auto spec = find_spec(db, s.optional_integer(1));
      is_damaged = is_damaged || (spec && spec->payload.damaged);
      if (spec) end.spec = std::move(spec->payload.bytes);
      end.status = static_cast<schemas::JobStatus>(s.integer(2));
      if (const auto code = s.optional_text(3)) end.error = {base::code_named(*code), s.text(4)};
      found.push_back(std::move(end));
    }
    return found;
  });
  if (is_damaged) return damaged_payload(base::Code::kRequestDamaged);
  return ends;
}

base::Result<std::vector<schemas::JobChange>> JobQueries::versions(const std::vector<schemas::JobId>& jobs) {
  return read(store_.readers(), [&](Db& db) {
    std::vector<schemas::JobChange> changes;
    for (const auto& job : jobs) {
      auto s = db.prepare(R"(
          SELECT tenant, version, status, status = {queued} AND run_at = {waits_for_machine},
              schedule <> {not_scheduled}
          FROM jobs
          WHERE id = ?1 AND kind = ?2)"_sql);
      if (!s.bind(job.uuid, job.kind).step()) continue;
      changes.push_back({job, s.text(0), s.integer(1), static_cast<schemas::JobStatus>(s.integer(2)),
                         s.integer(3) != 0, s.integer(4) != 0});
    }
    return changes;
  });
}

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
  auto s = db.prepare(R"(
      SELECT id FROM jobs INDEXED BY jobs_lane
      WHERE lane_key = ?1 AND parent_id IS NULL AND id < ?2 AND tenant = ?3 AND kind = ?4
      ORDER BY id DESC LIMIT ?5)"_sql);
  s.bind(page.lane_key, page.before, page.tenant, page.kind, page.limit);
  return ids(s);
}

// The artifacts of all jobs of the page, read with one statement.
std::unordered_map<base::Uuid, Named, base::UuidHash> artifacts_of(Db& db, const LanePage& page) {
  std::unordered_map<base::Uuid, Named, base::UuidHash> found;
  if (!kind_rules(page.kind).has_artifacts) return found;
  auto s = db.prepare(R"(
      SELECT job, id, name FROM artifacts INDEXED BY artifacts_of
      WHERE job IN (SELECT id FROM jobs INDEXED BY jobs_lane WHERE lane_key = ?1
          AND parent_id IS NULL AND id < ?2 AND tenant = ?3 AND kind = ?4 ORDER BY id DESC LIMIT ?5)
      ORDER BY job, id)"_sql);
  s.bind(page.lane_key, page.before, page.tenant, page.kind, page.limit);
  while (s.step()) found[s.uuid(0)].emplace_back(s.uuid(1), s.text(2));
  return found;
}

Named artifacts_of(Db& db, const JobRow& row) {
  Named found;
  if (!kind_rules(row.kind).has_artifacts) return found;
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
    if (row->input && !found.input) found.spec.damaged = base::Code::kRequestDamaged;
    found.cost_max = row->cost_max;
    found.metadata = row->metadata;
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
    const LanePage page{tenant, kind, lane_key, limit, before.value_or(max_id())};
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
