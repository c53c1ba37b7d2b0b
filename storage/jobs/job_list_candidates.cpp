#include <algorithm>
#include <array>
#include <utility>

#include "storage/jobs/job_list.h"
#include "storage/jobs/kind_rules.h"
#include "storage/sql.h"

namespace millrace::storage {
namespace {

using base::Uuid;

constexpr std::size_t kGroupsMax = 1000;  // one seek each: some 5 ms
// The same if the ids alone do not decide. If the groups differ in size, the small ones are read again and
// again.
constexpr std::size_t kUnevenGroupsMax = 4;
// Index entries that one step examines for a text in their ids; four entries cost as much as one row.
constexpr int kEntriesPerRead = 40'000;
constexpr int kEntriesPerRow = 4;
constexpr std::size_t kFoundEnough = 1'000;  // enough for some pages
constexpr int kEntriesEachMax =
    500;  // read from one group at a time; costs many times more than the seek to them

struct JobGroup {
  std::string tenant;
  schemas::Kind kind{};
  std::string model;
};

// The next tenant that has jobs. Each level of the index is found with its own seek, because SQLite does not
// skip over several columns at once.
std::optional<std::string> tenant_after(Db& db, const std::string& last) {
  auto s = db.prepare(R"(
      SELECT tenant FROM jobs INDEXED BY jobs_listed
      WHERE parent_id IS NULL AND tenant > ?1
      ORDER BY tenant LIMIT 1)"_sql);
  return s.bind(last).step() ? std::optional(s.text(0)) : std::nullopt;
}

std::optional<std::string> first_model(Db& db, const std::string& tenant, schemas::Kind kind) {
  auto s = db.prepare(R"(
      SELECT model FROM jobs INDEXED BY jobs_listed
      WHERE parent_id IS NULL AND tenant = ?1 AND kind = ?2
      ORDER BY model LIMIT 1)"_sql);
  return s.bind(tenant, kind).step() ? std::optional(s.text(0)) : std::nullopt;
}

std::optional<std::string> model_after(Db& db, const JobGroup& last) {
  auto s = db.prepare(R"(
      SELECT model FROM jobs INDEXED BY jobs_listed
      WHERE parent_id IS NULL AND tenant = ?1 AND kind = ?2 AND model > ?3
      ORDER BY model LIMIT 1)"_sql);
  return s.bind(last.tenant, last.kind, last.model).step() ? std::optional(s.text(0)) : std::nullopt;
}

// Adds a tenant's groups. False: there are more than one step examines.
bool add_groups(Db& db, const std::string& tenant, const JobFilter& filter, std::vector<JobGroup>& groups) {
  for (const schemas::Kind kind : schemas::kKinds) {
    if (!has_kind(kind, filter)) continue;
    for (auto model = filter.model ? filter.model : first_model(db, tenant, kind); model;) {
      if (groups.size() == kGroupsMax) return false;
      groups.push_back({tenant, kind, *model});
      model = filter.model ? std::nullopt : model_after(db, groups.back());
    }
  }
  return true;
}

// nullopt: there are more than one step examines.
std::optional<std::vector<JobGroup>> groups_of(Db& db, const JobFilter& filter) {
  std::vector<JobGroup> groups;
  auto tenant = filter.tenant ? filter.tenant : tenant_after(db, "");
  while (tenant) {
    if (!add_groups(db, *tenant, filter, groups)) return std::nullopt;
    tenant = filter.tenant ? std::nullopt : tenant_after(db, *tenant);
  }
  return groups;
}

// True if the filter can be decided by the ids alone.
bool ids_decide(const JobFilter& filter) {
  return !filter.status && !filter.error && !filter.created_after && !filter.created_before &&
         filter.text.empty();
}

int entries_per_group(const JobFilter& filter, std::size_t groups, std::size_t items_max) {
  constexpr std::size_t kMost = kRowsPerRead;
  if (ids_decide(filter)) return static_cast<int>(std::min(items_max, kMost));
  return static_cast<int>(std::max<std::size_t>(kMost / groups, 1));
}

// Adds a group's jobs above `down_to`; raises `down_to` if the group may have more.
void add_newest(Db& db, const JobGroup& group, const JobScan& scan, int entries_max, JobCandidates& out) {
  auto s = db.prepare(R"(
      SELECT id FROM jobs INDEXED BY jobs_listed
      WHERE parent_id IS NULL AND tenant = ?1 AND kind = ?2 AND model = ?3 AND id < ?4 AND id >= ?5
      ORDER BY id DESC LIMIT ?6)"_sql);
  const Uuid floor = out.down_to;  // bound by reference
  s.bind(group.tenant, group.kind, group.model, scan.before, floor, entries_max);
  int entries = 0;
  for (; s.step(); ++entries) out.ids.push_back(s.uuid(0));
  if (entries == entries_max) {
    out.all = false;
    out.down_to = out.ids.back();
  }
}

// Searches a text in the ids of a step's groups. It always reads on in the group with the newest unread ids,
// so that large and small groups advance together and little is read twice.
class TextSearch {
 public:
  TextSearch(Db& db, const JobFilter& filter, const JobScan& scan, std::vector<JobGroup> groups)
      : db_(db),
        text_(filter.id_contains),
        scan_(scan),
        entries_each_(std::clamp(kEntriesPerRead / 4 / static_cast<int>(groups.size()), 1, kEntriesEachMax)) {
    for (JobGroup& group : groups) unread_.push_back({std::move(group), scan.before});
  }

  JobCandidates newest() {
    int entries = 0;
    while (!unread_.empty() && entries < kEntriesPerRead &&
           (has_untouched_group() || found_.ids.size() < kFoundEnough)) {
      std::ranges::pop_heap(unread_, {}, &UnreadGroup::below);
      const int read = read_more(unread_.back());
      entries += read;
      if (read < entries_each_) {
        unread_.pop_back();
      } else {
        std::ranges::push_heap(unread_, {}, &UnreadGroup::below);
      }
    }
    found_.rows_read = entries / kEntriesPerRow;
    found_.all = unread_.empty();
    found_.down_to = unread_.empty() ? scan_.from : unread_.front().below;
    std::erase_if(found_.ids, [this](const Uuid& id) { return id < found_.down_to; });
    std::ranges::sort(found_.ids, std::greater<>());
    return std::move(found_);
  }

 private:
  struct UnreadGroup {
    JobGroup group;
    Uuid below;  // ids below this one are still unread
  };

  // True if nothing was read of some group yet: the order of the results is unknown until then.
  bool has_untouched_group() const { return unread_.front().below == scan_.before; }

  // Returns the number of entries read.
  int read_more(UnreadGroup& left) {
    auto s = db_.prepare(R"(
        SELECT id FROM jobs INDEXED BY jobs_listed
        WHERE parent_id IS NULL AND tenant = ?1 AND kind = ?2 AND model = ?3 AND id < ?4 AND id >= ?5
        ORDER BY id DESC LIMIT ?6)"_sql);
    const Uuid below = left.below;  // bound by reference
    s.bind(left.group.tenant, left.group.kind, left.group.model, below, scan_.from, entries_each_);
    int entries = 0;
    for (; s.step(); ++entries) {
      left.below = s.uuid(0);
      if (text_.is_in({left.group.kind, left.below})) found_.ids.push_back(left.below);
    }
    return entries;
  }

  Db& db_;
  IdSubstring text_;
  const JobScan& scan_;
  const int entries_each_;
  std::vector<UnreadGroup> unread_;  // a heap, the newest first
  JobCandidates found_;
};

}  // namespace

std::optional<JobCandidates> newest_of_groups(Db& db, const JobFilter& filter, const JobScan& scan,
                                              std::size_t items_max) {
  auto groups = groups_of(db, filter);
  if (!groups) return std::nullopt;
  JobCandidates out{.ids = {}, .down_to = scan.from, .all = true};
  if (groups->empty()) return out;
  if (!filter.id_contains.empty()) return TextSearch(db, filter, scan, *std::move(groups)).newest();
  // For many groups of different size over all tenants, a scan over all rows is better. A single tenant's
  // jobs may be few.
  if (!ids_decide(filter) && !filter.tenant && groups->size() > kUnevenGroupsMax) return std::nullopt;
  const int entries_max = entries_per_group(filter, groups->size(), items_max);
  for (const JobGroup& group : *groups) add_newest(db, group, scan, entries_max, out);
  if (!out.all) std::erase_if(out.ids, [&](const Uuid& id) { return id < out.down_to; });
  std::ranges::sort(out.ids, std::greater<>());
  return out;
}

namespace {

using base::Uuid;
using schemas::JobStatus;

// Ids that are collected from an index and sorted: some 10 ms. If there are more, a scan over the rows finds
// some soon.
constexpr std::size_t kGatheredMax = 50'000;
// The same for ended jobs. Their index is not selective, because most jobs succeed.
constexpr std::size_t kEndedMax = 5'000;

// Collects ids until there are too many.
class CandidateCollector {
 public:
  CandidateCollector(Db& db, const JobFilter& filter, const JobScan& scan)
      : db_(db), filter_(filter), scan_(scan) {}

  void running() {
    auto s = db_.prepare(R"(
        SELECT id FROM jobs INDEXED BY jobs_running
        WHERE status = {running} AND id < ?1 AND id >= ?2 LIMIT ?3)"_sql);
    take(s.bind(scan_.before, scan_.from, limit_left()));
    auto waiting = db_.prepare(R"(
        SELECT id FROM jobs INDEXED BY jobs_waiting
        WHERE status = {waiting} AND id < ?1 AND id >= ?2 LIMIT ?3)"_sql);
    take(waiting.bind(scan_.before, scan_.from, limit_left()));
  }

  void queued() {
    for (const schemas::Kind kind : schemas::kKinds) {
      if (!has_kind(kind, filter_)) continue;
      filter_.tenant ? ready_of(kind, *filter_.tenant) : ready(kind);
    }
    delayed(Schedule::kNone);
  }

  void scheduled() {
    delayed(Schedule::kTime);
    delayed(Schedule::kDelay);
  }

  void ended_badly(JobStatus status) {
    for (const schemas::Kind kind : schemas::kKinds) {
      if (!has_kind(kind, filter_)) continue;
      filter_.error ? failed_of(status, kind) : badly(status, kind);
    }
  }

  void ended() {
    auto s = db_.prepare(R"(
        SELECT id FROM jobs INDEXED BY jobs_ended
        WHERE status >= {first_terminal} AND parent_id IS NULL AND id < ?1 AND id >= ?2 LIMIT ?3)"_sql);
    max_ = kEndedMax;
    take(s.bind(scan_.before, scan_.from, limit_left()));
  }

  // nullopt: there are too many.
  std::optional<JobCandidates> newest_first() {
    if (ids_.size() > max_) return std::nullopt;
    std::ranges::sort(ids_, std::greater<>());
    return JobCandidates{.ids = std::move(ids_), .down_to = scan_.from, .all = true};
  }

 private:
  int limit_left() const { return static_cast<int>(max_ + 1 - ids_.size()); }

  void take(Statement& s) {
    while (s.step()) ids_.push_back(s.uuid(0));
  }

  void delayed(Schedule schedule) {
    auto s = db_.prepare(R"(
        SELECT id FROM jobs INDEXED BY jobs_delayed
        WHERE status = {queued} AND run_at > 0 AND schedule = ?1 AND id < ?2 AND id >= ?3 LIMIT ?4)"_sql);
    take(s.bind(schedule, scan_.before, scan_.from, limit_left()));
  }

  void ready(schemas::Kind kind) {
    auto s = db_.prepare(R"(
        SELECT id FROM jobs INDEXED BY jobs_ready
        WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND id < ?2 AND id >= ?3 LIMIT ?4)"_sql);
    take(s.bind(kind, scan_.before, scan_.from, limit_left()));
  }

  void ready_of(schemas::Kind kind, const std::string& tenant) {
    auto s = db_.prepare(R"(
        SELECT id FROM jobs INDEXED BY jobs_ready
        WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND tenant = ?2 AND id < ?3
            AND id >= ?4 LIMIT ?5)"_sql);
    take(s.bind(kind, tenant, scan_.before, scan_.from, limit_left()));
  }

  void badly(JobStatus status, schemas::Kind kind) {
    auto s = db_.prepare(R"(
        SELECT id FROM jobs INDEXED BY jobs_ended_badly
        WHERE status >= {first_unsuccessful} AND status = ?1 AND parent_id IS NULL AND kind = ?2
            AND tenant = coalesce(?3, tenant) AND id < ?4 AND id >= ?5 LIMIT ?6)"_sql);
    take(s.bind(status, kind, filter_.tenant, scan_.before, scan_.from, limit_left()));
  }

  void failed_of(JobStatus status, schemas::Kind kind) {
    auto s = db_.prepare(R"(
        SELECT id FROM jobs INDEXED BY jobs_ended_badly
        WHERE status >= {first_unsuccessful} AND status = ?1 AND parent_id IS NULL AND kind = ?2
            AND error_code = ?3 AND tenant = coalesce(?4, tenant) AND id < ?5 AND id >= ?6 LIMIT ?7)"_sql);
    take(s.bind(status, kind, *filter_.error, filter_.tenant, scan_.before, scan_.from, limit_left()));
  }

  Db& db_;
  const JobFilter& filter_;
  const JobScan& scan_;
  std::size_t max_ = kGatheredMax;
  std::vector<Uuid> ids_;
};

constexpr std::array kBadEnds{JobStatus::kFailed, JobStatus::kCancelled, JobStatus::kExpired};

// Candidates by status or error. nullopt: the filter has neither, or there are too many.
std::optional<JobCandidates> by_state(Db& db, const JobFilter& filter, const JobScan& scan) {
  if (!filter.status && !filter.error) return std::nullopt;
  CandidateCollector found(db, filter, scan);
  if (filter.status == "running") {
    found.running();
  } else if (filter.status == "queued" || filter.status == "wake_in_progress") {
    found.queued();
  } else if (filter.status == "scheduled") {
    found.scheduled();
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

namespace {

JobCandidates jobs_of_batch(Db& db, const Uuid& batch, const JobScan& scan) {
  JobCandidates found{.ids = {}, .down_to = scan.from};
  auto s = db.prepare(R"(
      SELECT job FROM batch_lines INDEXED BY batch_lines_by_job
      WHERE batch = ?1 AND job IS NOT NULL AND job < ?2 AND job >= ?3 ORDER BY job DESC LIMIT ?4)"_sql);
  s.bind(batch, scan.before, scan.from, kRowsPerRead);
  while (s.step()) found.ids.push_back(s.uuid(0));
  found.all = found.ids.size() < kRowsPerRead;
  if (!found.all) found.down_to = found.ids.back();
  return found;
}

}  // namespace

std::optional<JobCandidates> candidates(Db& db, const JobFilter& filter, const JobScan& scan,
                                        std::size_t items_max) {
  if (filter.batch) return jobs_of_batch(db, *filter.batch, scan);
  if (auto few = by_state(db, filter, scan)) return few;
  const bool grouped = filter.tenant || filter.kind || filter.model || !filter.id_contains.empty();
  return grouped ? newest_of_groups(db, filter, scan, items_max) : std::nullopt;
}

}  // namespace millrace::storage
