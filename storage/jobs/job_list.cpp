#include "storage/jobs/job_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "storage/db/columns.h"
#include "storage/jobs/job_queries.h"
#include "storage/jobs/job_rows.h"
#include "storage/jobs/kind_rules.h"
#include "storage/sql.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

// An id is created at most this long before its row (the writer's queue). For how much later it may be than
// its row's time, see id_clock_skew.
constexpr std::chrono::minutes kIdLead{5};

// The smallest UUIDv7 of this millisecond.
base::Uuid first_id_of(base::WallTime t) {
  std::array<std::uint8_t, 16> bytes{};
  constexpr std::int64_t kLastMs = (std::int64_t{1} << 48) - 1;
  auto ms = static_cast<std::uint64_t>(std::clamp<std::int64_t>(base::millis(t), 0, kLastMs));
  for (std::size_t i = 6; i-- > 0; ms >>= 8) bytes[i] = static_cast<std::uint8_t>(ms & 0xFF);
  return base::Uuid(bytes);
}

// The next id: ids below it are `id` and less. The largest id is returned unchanged.
base::Uuid after(const base::Uuid& id) {
  std::array<std::uint8_t, 16> bytes{};
  std::copy_n(id.bytes().begin(), bytes.size(), bytes.begin());
  for (std::size_t i = bytes.size(); i-- > 0;) {
    if (++bytes[i] != 0) return base::Uuid(bytes);
  }
  return id;
}

// The smallest (digit '0') or largest (digit 'f') id whose text begins so; nullopt: none does.
std::optional<base::Uuid> filled_up(std::string_view beginning, char digit) {
  constexpr std::string_view kForm = "00000000-0000-0000-0000-000000000000";
  if (beginning.size() > kForm.size()) return std::nullopt;
  std::string text(beginning);
  for (std::size_t i = text.size(); i < kForm.size(); ++i) text += kForm[i] == '-' ? '-' : digit;
  return base::Uuid::parse(text);
}

// True if the text has a character that no id contains; then nothing matches.
bool is_in_no_id(std::string_view text) {
  std::string all = "0123456789abcdef-";
  for (const schemas::Kind kind : schemas::kKinds) all += schemas::prefix(kind);
  return text.find_first_not_of(all) != std::string_view::npos;
}

// A text that starts with a kind's prefix can only be the beginning of an id, so the scan is limited to such
// ids.
void narrow(JobScan& scan, std::string_view text) {
  for (const schemas::Kind kind : schemas::kKinds) {
    if (!text.starts_with(schemas::prefix(kind))) continue;
    const std::string_view beginning = text.substr(schemas::prefix(kind).size());
    const auto first = filled_up(beginning, '0'), last = filled_up(beginning, 'f');
    if (first) scan.from = std::max(scan.from, *first);
    if (last) scan.before = std::min(scan.before, after(*last));
  }
}

bool has_status(const JobCandidate& job, const JobFilter& filter) {
  if (!filter.status) return true;
  schemas::JobView view;
  view.status = job.status;
  view.waking = job.waking;
  view.scheduled = job.scheduled;
  return schemas::public_status(view) == *filter.status;
}

}  // namespace

JobScan start_scan(const JobFilter& filter, std::optional<base::Uuid> before, int rows_max) {
  JobScan scan{.before = before.value_or(max_id()), .from = {}, .rows_left = rows_max, .finished = false};
  if (filter.created_after) scan.from = first_id_of(*filter.created_after - kIdLead);
  narrow(scan, filter.id_contains);
  scan.finished = is_in_no_id(filter.id_contains);
  return scan;
}

void limit_to_created_before(JobScan& scan, base::WallTime created_before, std::chrono::milliseconds skew) {
  scan.before = std::min(scan.before, first_id_of(created_before + skew));
}

JobCandidate candidate_at(const Statement& row) {
  return {{static_cast<schemas::Kind>(row.integer(1)), row.uuid(0)},
          row.text(8),
          !row.is_null(7),
          static_cast<schemas::JobStatus>(row.integer(2)),
          row.text(3),
          base::wall_from(row.integer(4)),
          row.integer(5) == kWaitsForMachine,
          row.integer(10) != 0,
          row.is_null(6) ? std::string() : row.text(6),
          row.is_null(9) ? std::string() : row.text(9)};
}

bool has_kind(schemas::Kind kind, const JobFilter& filter) {
  return filter.kind ? kind == *filter.kind : !kind_rules(kind).internal;
}

// Of three hexadecimal digits in a row, either the first two or the last two form a whole byte of the id,
// wherever they stand. No prefix has so many hexadecimal digits.
IdSubstring::IdSubstring(std::string_view text) : text_(text) {
  constexpr std::size_t kDigits = 3;
  if (text.size() < kDigits || text.find_first_not_of("0123456789abcdef") != std::string_view::npos) return;
  unsigned value = 0;
  std::from_chars(text.data(), text.data() + kDigits, value, 16);
  bytes_ = {static_cast<unsigned char>(value >> 4), static_cast<unsigned char>(value & 0xFF)};
}

bool IdSubstring::may_be_in(const base::Uuid& id) const {
  if (!bytes_) return true;
  const auto has = [&](unsigned char byte) {
    return id.bytes().find(static_cast<char>(byte)) != std::string_view::npos;
  };
  return has((*bytes_)[0]) || has((*bytes_)[1]);
}

bool IdSubstring::is_in(const schemas::JobId& id) {
  if (text_.empty()) return true;
  if (!may_be_in(id.uuid)) return false;
  id_text_ = schemas::prefix(id.kind);
  id.uuid.append_to(id_text_);
  return id_text_.find(text_) != std::string::npos;
}

namespace {

bool has_metadata(const JobCandidate& job, const JobFilter& filter) {
  if (filter.metadata.empty()) return true;
  const bool is_hidden = std::ranges::find(filter.names_hidden, job.id.kind) != filter.names_hidden.end();
  return !is_hidden && schemas::has_all(job.metadata, filter.metadata);
}

}  // namespace

bool matches(const JobCandidate& job, const JobFilter& filter) {
  return !job.is_child && (!filter.tenant || job.tenant == *filter.tenant) && has_kind(job.id.kind, filter) &&
         has_status(job, filter) && (!filter.model || job.model == *filter.model) &&
         (!filter.error || job.error == *filter.error) &&
         (!filter.created_after || job.created_at >= *filter.created_after) &&
         (!filter.created_before || job.created_at < *filter.created_before) &&
         IdSubstring(filter.id_contains).is_in(job.id) && has_metadata(job, filter);
}

namespace {

bool is_same_letter(char a, char b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return lower(a) == lower(b);
}

bool contains(std::string_view whole, std::string_view text) {
  return !std::ranges::search(whole, text, is_same_letter).empty();
}

// The state of the search for one page.
class PageSearch {
 public:
  PageSearch(Store& store, const JobFilter& filter, JobScan scan, std::size_t items_max)
      : store_(store), filter_(filter), scan_(scan), items_max_(items_max) {}

  bool goes_on() const { return !full() && scan_.rows_left > 0 && !scan_.finished; }

  // One step, in one read transaction.
  void step(Db& db) {
    if (!std::exchange(begun_, true) && filter_.created_before)
      limit_to_created_before(scan_, *filter_.created_before, id_clock_skew(db));
    if (auto found = candidates(db, filter_, scan_, items_max_)) {
      check_candidates(db, *found);
    } else {
      scan_rows(db);
    }
  }

  JobPage page() {
    JobPage out{std::move(items_), std::nullopt};
    if (out.items.size() == items_max_) {
      out.items.pop_back();
      out.next = out.items.back().id.uuid;
    } else if (!scan_.finished) {
      out.next = scan_.before;
    }
    return out;
  }

 private:
  bool full() const { return items_.size() >= items_max_; }

  bool has_text(Db& db, const schemas::JobId& job) const {
    const std::string& text = filter_.text;
    if (text.empty() || contains(job.str(), text)) return true;
    const bool is_hidden = std::ranges::find(filter_.names_hidden, job.kind) != filter_.names_hidden.end();
    return !is_hidden && contains(find_name(db, job), text);
  }

  void take(Db& db, const JobCandidate& job) {
    if (!matches(job, filter_) || !has_text(db, job.id)) return;
    if (auto view = find_named_view(db, job.id.uuid, store_.options())) items_.push_back(std::move(*view));
  }

  // The cost of the index is subtracted afterwards, so that each step makes progress.
  void check_candidates(Db& db, const JobCandidates& found) {
    for (const base::Uuid& id : found.ids) {
      if (full() || scan_.rows_left <= 0) return;
      auto s = db.prepare(R"(
          SELECT id, kind, status, model, created_at, run_at, error_code, parent_id, tenant, metadata,
              schedule
          FROM jobs
          WHERE id = ?1)"_sql);
      if (s.bind(id).step()) take(db, candidate_at(s));
      scan_.before = id;
      --scan_.rows_left;
    }
    scan_.rows_left -= found.rows_read;
    scan_.finished = found.all && !full();
    if (!full()) scan_.before = found.down_to;
  }

  // Scans the rows in order of id, of all tenants and including children.
  void scan_rows(Db& db) {
    auto s = db.prepare(R"(
        SELECT id, kind, status, model, created_at, run_at, error_code, parent_id, tenant, metadata,
              schedule
          FROM jobs
        WHERE id < ?1 AND id >= ?2
        ORDER BY id DESC LIMIT ?3)"_sql);
    const base::Uuid before = scan_.before;  // bound by reference
    const int rows_max = std::min(kRowsPerRead, scan_.rows_left);
    s.bind(before, scan_.from, rows_max);
    int rows = 0;
    while (!full() && s.step()) {
      ++rows;
      const JobCandidate job = candidate_at(s);
      scan_.before = job.id.uuid;
      take(db, job);
    }
    scan_.rows_left -= rows;
    scan_.finished = rows < rows_max && !full();
  }

  Store& store_;
  const JobFilter& filter_;
  JobScan scan_;
  const std::size_t items_max_;
  bool begun_ = false;
  std::vector<schemas::JobView> items_;
};

}  // namespace

base::Result<JobPage> page_of_jobs(Store& store, const JobFilter& filter, int limit,
                                   std::optional<base::Uuid> before, int rows_max) {
  if (limit <= 0) return JobPage();
  if (!filter.text.empty()) rows_max = std::min(rows_max, kNamedRowsMax);
  const auto items_max =
      static_cast<std::size_t>(limit) + 1;  // one more, to see whether there is a next page
  PageSearch search(store, filter, start_scan(filter, before, rows_max), items_max);
  while (search.goes_on()) {
    auto status = store.readers().read([&](Db& db) { search.step(db); });
    if (!status) return status.error();
  }
  return search.page();
}

base::Result<JobPage> JobQueries::list(const std::string& tenant, const JobFilter& filter, int limit,
                                       std::optional<base::Uuid> before, int rows_max) {
  JobFilter own = filter;
  own.tenant = tenant;
  return page_of_jobs(store_, own, limit, before, rows_max);
}

}  // namespace millrace::storage
