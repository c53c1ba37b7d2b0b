#include "storage/jobs/job_views.h"

#include "schemas/jobs/job_name.h"
#include "storage/jobs/kind_rules.h"
#include "storage/jobs/payload_rows.h"
#include "storage/sql.h"

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
          SELECT bytes, blob, hash FROM job_specs
          WHERE id = (SELECT spec FROM jobs WHERE id = ?1))"_sql);
  if (!s.bind(job.uuid).step()) return {};
  const auto spec = payload_at(db, s, 0, base::Code::kRequestDamaged, "job_specs of " + job.str());
  return schemas::job_name(job.kind, spec.bytes);
}

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
          LIMIT 1) END
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
  view.deadline = base::wall_from(s.integer(11));
  if (view.completed_at) {
    view.result_expires_at =
        *view.completed_at + (kind_rules(view.id.kind).keeps_result ? options.job_age : options.result_age);
  }
  view.progress_done = static_cast<int>(s.integer(12));
  view.progress_total = static_cast<int>(s.integer(13));
  if (const auto code = s.optional_text(14)) view.error = {base::code_named(*code), s.text(15), s.text(19)};
  if (const auto old = s.optional_uuid(16)) view.retry_of = schemas::JobId{view.id.kind, *old};
  view.has_result = s.integer(17) != 0;
  view.waking = s.integer(18) != 0;
  return view;
}

std::optional<schemas::JobView> find_named_view(Db& db, const base::Uuid& id, const Store::Options& options) {
  auto view = find_view(db, id, options);
  if (view) view->name = find_name(db, view->id);
  return view;
}

}  // namespace millrace::storage
