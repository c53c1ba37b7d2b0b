#include "storage/job_groups.h"

#include <algorithm>
#include <utility>

namespace millrace::storage {
namespace {

using base::Uuid;

constexpr std::size_t kGroupsMax = 1000;  // a seek each: some 5 ms
// The same where ids alone do not decide: of unlike groups the small ones are read again and again.
constexpr std::size_t kUnevenGroupsMax = 4;
// Entries of the index that one step looks at for a text in their ids; as much work as a row is four of them.
constexpr int kEntriesPerRead = 40'000;
constexpr int kEntriesPerRow = 4;

struct JobGroup {
  std::string tenant;
  schemas::Kind kind{};
  std::string model;
};

// The next tenant that has jobs. From level to level one seek each: SQLite does not seek by several columns
// at once.
std::optional<std::string> tenant_after(Db& db, const std::string& last) {
  auto s = db.prepare(
      "SELECT tenant FROM jobs INDEXED BY jobs_listed WHERE parent_id IS NULL AND tenant > ?1 ORDER BY "
      "tenant LIMIT 1");
  return s.bind(last).step() ? std::optional(s.text(0)) : std::nullopt;
}

std::optional<std::string> first_model(Db& db, const std::string& tenant, schemas::Kind kind) {
  auto s = db.prepare(
      "SELECT model FROM jobs INDEXED BY jobs_listed WHERE parent_id IS NULL AND tenant = ?1 AND kind = ?2 "
      "ORDER BY model LIMIT 1");
  return s.bind(tenant, kind).step() ? std::optional(s.text(0)) : std::nullopt;
}

std::optional<std::string> model_after(Db& db, const JobGroup& last) {
  auto s = db.prepare(
      "SELECT model FROM jobs INDEXED BY jobs_listed WHERE parent_id IS NULL AND tenant = ?1 AND kind = ?2 "
      "AND model > ?3 ORDER BY model LIMIT 1");
  return s.bind(last.tenant, last.kind, last.model).step() ? std::optional(s.text(0)) : std::nullopt;
}

// Adds a tenant's groups. False: there are more than one step looks at.
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

// nullopt: there are more than one step looks at.
std::optional<std::vector<JobGroup>> groups_of(Db& db, const JobFilter& filter) {
  std::vector<JobGroup> groups;
  auto tenant = filter.tenant ? filter.tenant : tenant_after(db, "");
  while (tenant) {
    if (!add_groups(db, *tenant, filter, groups)) return std::nullopt;
    tenant = filter.tenant ? std::nullopt : tenant_after(db, *tenant);
  }
  return groups;
}

// Whether the ids alone say what the filter asks for.
bool ids_decide(const JobFilter& filter) {
  return !filter.status && !filter.error && !filter.created_after && !filter.created_before;
}

int entries_per_group(const JobFilter& filter, std::size_t groups, std::size_t wanted) {
  const std::size_t most = filter.id_contains.empty() ? kRowsPerRead : kEntriesPerRead;
  if (ids_decide(filter) && filter.id_contains.empty()) return static_cast<int>(std::min(wanted, most));
  return static_cast<int>(std::max<std::size_t>(most / groups, 1));
}

// Adds what a group has above `down_to`, which it raises where there may be more.
void add_newest(Db& db, const JobGroup& group, const JobFilter& filter, const JobWalk& walk, int entries_max,
                JobCandidates& out) {
  auto s = db.prepare(
      "SELECT id FROM jobs INDEXED BY jobs_listed WHERE parent_id IS NULL AND tenant = ?1 AND kind = ?2 AND "
      "model = ?3 AND id < ?4 AND id >= ?5 ORDER BY id DESC LIMIT ?6");
  const Uuid floor = out.down_to;  // bound by reference
  s.bind(group.tenant, group.kind, group.model, walk.before, floor, entries_max);
  int entries = 0;
  Uuid last;
  std::string text;
  for (; s.step(); ++entries) {
    last = s.uuid(0);
    if (has_text({group.kind, last}, filter.id_contains, text)) out.ids.push_back(last);
  }
  if (!filter.id_contains.empty()) out.rows_read += entries / kEntriesPerRow;
  if (entries == entries_max) {
    out.all = false;
    out.down_to = last;
  }
}

}  // namespace

std::optional<JobCandidates> newest_of_groups(Db& db, const JobFilter& filter, const JobWalk& walk,
                                              std::size_t wanted) {
  const auto groups = groups_of(db, filter);
  const bool uneven = !ids_decide(filter) || !filter.id_contains.empty();
  // All jobs are walked rather than the unlike groups of many tenants; those of one tenant may be few.
  if (!groups || (uneven && !filter.tenant && groups->size() > kUnevenGroupsMax)) return std::nullopt;
  JobCandidates out{.ids = {}, .down_to = walk.from, .all = true};
  if (groups->empty()) return out;
  const int entries_max = entries_per_group(filter, groups->size(), wanted);
  for (const JobGroup& group : *groups) add_newest(db, group, filter, walk, entries_max, out);
  if (!out.all) std::erase_if(out.ids, [&](const Uuid& id) { return id < out.down_to; });
  std::ranges::sort(out.ids, std::greater<>());
  return out;
}

}  // namespace millrace::storage
