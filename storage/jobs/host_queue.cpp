#include "storage/jobs/host_queue.h"

#include <algorithm>

#include "storage/sql.h"

namespace millrace::storage {
namespace {

const std::string kAnyHost;

// The smaller one of those that are there.
template <class T>
std::optional<T> first_of_two(std::optional<T> one, std::optional<T> other) {
  if (!one || (other && *other < *one)) return other;
  return one;
}

// The first tenant after `name` with a job for `host`.
std::optional<std::string> tenant_of(Db& db, schemas::Kind kind, const std::string& host,
                                     const std::string& name) {
  auto s = db.prepare(R"(
      SELECT tenant FROM jobs INDEXED BY jobs_of_hosts
      WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND host = ?2 AND tenant > ?3
      ORDER BY tenant LIMIT 1)"_sql);
  if (!s.bind(kind, host, name).step()) return std::nullopt;
  return s.text(0);
}

}  // namespace

HostQueueCursor::HostQueueCursor(Db& db, schemas::Kind kind, std::string host)
    : db_(db),
      kind_(kind),
      host_(std::move(host)),
      selector_(db, kind, CursorUse::kClaim, [this](const std::string& name) { return tenant_after(name); }) {
}

std::optional<QueuedJob> HostQueueCursor::next(Serve serve) {
  while (const auto tenant = selector_.current(serve)) {
    const auto head = first_of_two(head_of(host_, *tenant), head_of(kAnyHost, *tenant));
    if (!head) {
      selector_.remove();
      continue;
    }
    selector_.served();
    return QueuedJob{head->second};
  }
  return std::nullopt;
}

std::optional<std::string> HostQueueCursor::tenant_after(const std::string& name) {
  return first_of_two(tenant_of(db_, kind_, host_, name), tenant_of(db_, kind_, kAnyHost, name));
}

bool HostQueueCursor::has_jobs(Db& db, schemas::Kind kind, const std::string& host) {
  return tenant_of(db, kind, host, "") || tenant_of(db, kind, kAnyHost, "");
}

std::optional<HostQueueCursor::Head> HostQueueCursor::head_of(const std::string& host,
                                                              const std::string& tenant) {
  auto s = db_.prepare(R"(
      SELECT priority, id FROM jobs INDEXED BY jobs_of_hosts
      WHERE status = {queued} AND run_at = 0 AND kind = ?1 AND host = ?2 AND tenant = ?3
      ORDER BY priority DESC, id LIMIT 1)"_sql);
  if (!s.bind(kind_, host, tenant).step()) return std::nullopt;
  return Head{-s.integer(0), s.uuid(1)};
}

}  // namespace millrace::storage
