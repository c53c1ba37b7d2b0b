#include "storage/job_match.h"

#include <algorithm>
#include <array>
#include <utility>

#include "storage/job_rows.h"
#include "storage/kind_rules.h"
#include "storage/last_id.h"

namespace millrace::storage {
namespace {

// An id is made before its row, by at most this (the writer's queue). It may also be later than its row's
// time: ids never step back, and the wall clock does. So ids bound `created_after` only.
constexpr std::chrono::minutes kIdLead{5};

// The smallest id that a UUIDv7 of this millisecond can have.
base::Uuid first_id_of(base::WallTime t) {
  std::array<std::uint8_t, 16> bytes{};
  auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(0, base::millis(t)));
  for (std::size_t i = 6; i-- > 0; ms >>= 8) bytes[i] = static_cast<std::uint8_t>(ms & 0xFF);
  return base::Uuid(bytes);
}

// One above: ids below it are `id` and less. The last of all stays what it is.
base::Uuid after(const base::Uuid& id) {
  std::array<std::uint8_t, 16> bytes{};
  std::copy_n(id.bytes().begin(), bytes.size(), bytes.begin());
  for (std::size_t i = bytes.size(); i-- > 0;) {
    if (++bytes[i] != 0) return base::Uuid(bytes);
  }
  return id;
}

// The first or the last id whose text begins so; nullopt: none does.
std::optional<base::Uuid> filled_up(std::string_view beginning, char digit) {
  constexpr std::string_view kForm = "00000000-0000-0000-0000-000000000000";
  if (beginning.size() > kForm.size()) return std::nullopt;
  std::string text(beginning);
  for (std::size_t i = text.size(); i < kForm.size(); ++i) text += kForm[i] == '-' ? '-' : digit;
  return base::Uuid::parse(text);
}

// A text with a kind's prefix can only be the beginning of an id: the walk looks nowhere else.
void narrow(JobWalk& walk, std::string_view text) {
  for (const schemas::Kind kind : schemas::kKinds) {
    if (!text.starts_with(schemas::prefix(kind))) continue;
    const std::string_view beginning = text.substr(schemas::prefix(kind).size());
    const auto first = filled_up(beginning, '0'), last = filled_up(beginning, 'f');
    if (first) walk.from = std::max(walk.from, *first);
    if (last) walk.before = std::min(walk.before, after(*last));
  }
}

bool has_status(const JobCandidate& job, const JobFilter& filter) {
  if (!filter.status) return true;
  schemas::JobView view;
  view.status = job.status;
  view.waking = job.waking;
  return schemas::public_status(view) == *filter.status;
}

}  // namespace

JobWalk start_walk(const JobFilter& filter, std::optional<base::Uuid> before, int rows_max) {
  JobWalk walk{.before = before.value_or(last_id()), .from = {}, .rows_left = rows_max, .finished = false};
  if (filter.created_after) walk.from = first_id_of(*filter.created_after - kIdLead);
  narrow(walk, filter.id_contains);
  return walk;
}

JobCandidate candidate_at(const Statement& row) {
  return {{static_cast<schemas::Kind>(row.integer(1)), row.uuid(0)},
          row.text(8),
          !row.is_null(7),
          static_cast<schemas::JobStatus>(row.integer(2)),
          row.text(3),
          base::wall_from(row.integer(4)),
          row.integer(5) == kWaitsForMachine,
          row.is_null(6) ? std::string() : row.text(6)};
}

bool has_kind(schemas::Kind kind, const JobFilter& filter) {
  return filter.kind ? kind == *filter.kind : !kind_rules(kind).internal;
}

bool has_text(const schemas::JobId& id, std::string_view text, std::string& room) {
  if (text.empty()) return true;
  room = schemas::prefix(id.kind);
  id.uuid.append_to(room);
  return room.find(text) != std::string::npos;
}

bool matches(const JobCandidate& job, const JobFilter& filter) {
  std::string text;
  return !job.is_child && (!filter.tenant || job.tenant == *filter.tenant) && has_kind(job.id.kind, filter) &&
         has_status(job, filter) && (!filter.model || job.model == *filter.model) &&
         (!filter.error || job.error == *filter.error) &&
         (!filter.created_after || job.created_at >= *filter.created_after) &&
         (!filter.created_before || job.created_at < *filter.created_before) &&
         has_text(job.id, filter.id_contains, text);
}

}  // namespace millrace::storage
