#include "storage/job_groups.h"

#include <algorithm>
#include <utility>

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
  return !filter.status && !filter.error && !filter.created_after && !filter.created_before;
}

int entries_per_group(const JobFilter& filter, std::size_t groups, std::size_t wanted) {
  constexpr std::size_t kMost = kRowsPerRead;
  if (ids_decide(filter)) return static_cast<int>(std::min(wanted, kMost));
  return static_cast<int>(std::max<std::size_t>(kMost / groups, 1));
}

// Adds a group's jobs above `down_to`; raises `down_to` if the group may have more.
void add_newest(Db& db, const JobGroup& group, const JobWalk& walk, int entries_max, JobCandidates& out) {
  auto s = db.prepare(
      "SELECT id FROM jobs INDEXED BY jobs_listed WHERE parent_id IS NULL AND tenant = ?1 AND kind = ?2 AND "
      "model = ?3 AND id < ?4 AND id >= ?5 ORDER BY id DESC LIMIT ?6");
  const Uuid floor = out.down_to;  // bound by reference
  s.bind(group.tenant, group.kind, group.model, walk.before, floor, entries_max);
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
  TextSearch(Db& db, const JobFilter& filter, const JobWalk& walk, std::vector<JobGroup> groups)
      : db_(db),
        text_(filter.id_contains),
        walk_(walk),
        entries_each_(std::clamp(kEntriesPerRead / 4 / static_cast<int>(groups.size()), 1, kEntriesEachMax)) {
    for (JobGroup& group : groups) left_.push_back({std::move(group), walk.before});
  }

  JobCandidates newest() {
    int entries = 0;
    while (!left_.empty() && entries < kEntriesPerRead &&
           (has_unread() || found_.ids.size() < kFoundEnough)) {
      std::ranges::pop_heap(left_, {}, &Left::below);
      const int read = read_on(left_.back());
      entries += read;
      if (read < entries_each_) {
        left_.pop_back();
      } else {
        std::ranges::push_heap(left_, {}, &Left::below);
      }
    }
    found_.rows_read = entries / kEntriesPerRow;
    found_.all = left_.empty();
    found_.down_to = left_.empty() ? walk_.from : left_.front().below;
    std::erase_if(found_.ids, [this](const Uuid& id) { return id < found_.down_to; });
    std::ranges::sort(found_.ids, std::greater<>());
    return std::move(found_);
  }

 private:
  struct Left {
    JobGroup group;
    Uuid below;  // ids below this one are still unread
  };

  // True if nothing was read of some group yet: the order of the results is unknown until then.
  bool has_unread() const { return left_.front().below == walk_.before; }

  // Returns the number of entries read.
  int read_on(Left& left) {
    auto s = db_.prepare(
        "SELECT id FROM jobs INDEXED BY jobs_listed WHERE parent_id IS NULL AND tenant = ?1 AND kind = ?2 "
        "AND model = ?3 AND id < ?4 AND id >= ?5 ORDER BY id DESC LIMIT ?6");
    const Uuid below = left.below;  // bound by reference
    s.bind(left.group.tenant, left.group.kind, left.group.model, below, walk_.from, entries_each_);
    int entries = 0;
    for (; s.step(); ++entries) {
      left.below = s.uuid(0);
      if (text_.is_in({left.group.kind, left.below})) found_.ids.push_back(left.below);
    }
    return entries;
  }

  Db& db_;
  IdText text_;
  const JobWalk& walk_;
  const int entries_each_;
  std::vector<Left> left_;  // a heap, the newest first
  JobCandidates found_;
};

}  // namespace

std::optional<JobCandidates> newest_of_groups(Db& db, const JobFilter& filter, const JobWalk& walk,
                                              std::size_t wanted) {
  auto groups = groups_of(db, filter);
  if (!groups) return std::nullopt;
  JobCandidates out{.ids = {}, .down_to = walk.from, .all = true};
  if (groups->empty()) return out;
  if (!filter.id_contains.empty()) return TextSearch(db, filter, walk, *std::move(groups)).newest();
  // For many groups of different size over all tenants, a scan over all rows is better. A single tenant's
  // jobs may be few.
  if (!ids_decide(filter) && !filter.tenant && groups->size() > kUnevenGroupsMax) return std::nullopt;
  const int entries_max = entries_per_group(filter, groups->size(), wanted);
  for (const JobGroup& group : *groups) add_newest(db, group, walk, entries_max, out);
  if (!out.all) std::erase_if(out.ids, [&](const Uuid& id) { return id < out.down_to; });
  std::ranges::sort(out.ids, std::greater<>());
  return out;
}

}  // namespace millrace::storage
