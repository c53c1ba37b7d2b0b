#include "storage/job_candidates.h"

#include <algorithm>
#include <array>

#include "storage/job_groups.h"
#include "storage/kind_rules.h"

namespace millrace::storage {
namespace {

using base::Uuid;
using schemas::JobStatus;

// Ids that are collected from an index and sorted: some 10 ms. If there are more, a scan over the rows finds
// some soon.
constexpr std::size_t kGatheredMax = 50'000;
// The same for ended jobs. Their index is not selective, because most jobs succeed.
constexpr std::size_t kEndedMax = 5'000;

// Collects ids until there are too many.
class Harvest {
 public:
  Harvest(Db& db, const JobFilter& filter, const JobWalk& walk) : db_(db), filter_(filter), walk_(walk) {}

  void running() {
    auto s = db_.prepare(
        "SELECT id FROM jobs INDEXED BY jobs_running WHERE status = 1 AND id < ?1 AND id >= ?2 LIMIT ?3");
    take(s.bind(walk_.before, walk_.from, room()));
    auto waiting = db_.prepare(
        "SELECT id FROM jobs INDEXED BY jobs_waiting WHERE status = 2 AND id < ?1 AND id >= ?2 LIMIT ?3");
    take(waiting.bind(walk_.before, walk_.from, room()));
  }

  void queued() {
    for (const schemas::Kind kind : schemas::kKinds) {
      if (!has_kind(kind, filter_)) continue;
      filter_.tenant ? ready_of(kind, *filter_.tenant) : ready(kind);
    }
    auto s = db_.prepare(
        "SELECT id FROM jobs INDEXED BY jobs_delayed WHERE status = 0 AND run_at > 0 AND id < ?1 AND id >= "
        "?2 LIMIT ?3");
    take(s.bind(walk_.before, walk_.from, room()));
  }

  void ended_badly(JobStatus status) {
    for (const schemas::Kind kind : schemas::kKinds) {
      if (!has_kind(kind, filter_)) continue;
      filter_.error ? failed_of(status, kind) : badly(status, kind);
    }
  }

  void ended() {
    auto s = db_.prepare(
        "SELECT id FROM jobs INDEXED BY jobs_ended WHERE status >= 3 AND parent_id IS NULL AND id < ?1 AND "
        "id >= ?2 LIMIT ?3");
    most_ = kEndedMax;
    take(s.bind(walk_.before, walk_.from, room()));
  }

  // nullopt: there are too many.
  std::optional<JobCandidates> newest_first() {
    if (ids_.size() > most_) return std::nullopt;
    std::ranges::sort(ids_, std::greater<>());
    return JobCandidates{.ids = std::move(ids_), .down_to = walk_.from, .all = true};
  }

 private:
  int room() const { return static_cast<int>(most_ + 1 - ids_.size()); }

  void take(Statement& s) {
    while (s.step()) ids_.push_back(s.uuid(0));
  }

  void ready(schemas::Kind kind) {
    auto s = db_.prepare(
        "SELECT id FROM jobs INDEXED BY jobs_ready WHERE status = 0 AND run_at = 0 AND kind = ?1 AND id < ?2 "
        "AND id >= ?3 LIMIT ?4");
    take(s.bind(kind, walk_.before, walk_.from, room()));
  }

  void ready_of(schemas::Kind kind, const std::string& tenant) {
    auto s = db_.prepare(
        "SELECT id FROM jobs INDEXED BY jobs_ready WHERE status = 0 AND run_at = 0 AND kind = ?1 AND tenant "
        "= ?2 AND id < ?3 AND id >= ?4 LIMIT ?5");
    take(s.bind(kind, tenant, walk_.before, walk_.from, room()));
  }

  void badly(JobStatus status, schemas::Kind kind) {
    auto s = db_.prepare(
        "SELECT id FROM jobs INDEXED BY jobs_ended_badly WHERE status >= 4 AND status = ?1 AND parent_id IS "
        "NULL AND kind = ?2 AND (?3 IS NULL OR tenant = ?3) AND id < ?4 AND id >= ?5 LIMIT ?6");
    take(s.bind(status, kind, filter_.tenant, walk_.before, walk_.from, room()));
  }

  void failed_of(JobStatus status, schemas::Kind kind) {
    auto s = db_.prepare(
        "SELECT id FROM jobs INDEXED BY jobs_ended_badly WHERE status >= 4 AND status = ?1 AND parent_id IS "
        "NULL AND kind = ?2 AND error_code = ?3 AND (?4 IS NULL OR tenant = ?4) AND id < ?5 AND id >= ?6 "
        "LIMIT ?7");
    take(s.bind(status, kind, *filter_.error, filter_.tenant, walk_.before, walk_.from, room()));
  }

  Db& db_;
  const JobFilter& filter_;
  const JobWalk& walk_;
  std::size_t most_ = kGatheredMax;
  std::vector<Uuid> ids_;
};

constexpr std::array kBadEnds{JobStatus::kFailed, JobStatus::kCancelled, JobStatus::kExpired};

// Candidates by status or error. nullopt: the filter has neither, or there are too many.
std::optional<JobCandidates> by_state(Db& db, const JobFilter& filter, const JobWalk& walk) {
  if (!filter.status && !filter.error) return std::nullopt;
  Harvest found(db, filter, walk);
  if (filter.status == "running") {
    found.running();
  } else if (filter.status == "queued" || filter.status == "wake_in_progress") {
    found.queued();
  } else if (filter.status == "succeeded") {
    found.ended();
  } else {
    for (const JobStatus each : kBadEnds) {
      if (!filter.status || filter.status == schemas::public_name(each)) found.ended_badly(each);
    }
  }
  return found.newest_first();
}

}  // namespace

std::optional<JobCandidates> candidates(Db& db, const JobFilter& filter, const JobWalk& walk,
                                        std::size_t wanted) {
  if (auto few = by_state(db, filter, walk)) return few;
  const bool grouped = filter.tenant || filter.kind || filter.model || !filter.id_contains.empty();
  return grouped ? newest_of_groups(db, filter, walk, wanted) : std::nullopt;
}

}  // namespace millrace::storage
