#include "storage/machines/artifacts.h"

#include <algorithm>
#include <utility>

#include "schemas/json/json_text.h"
#include "schemas/machines/machine.h"
#include "storage/admin/audit.h"
#include "storage/blobs/blob_rows.h"
#include "storage/db/columns.h"
#include "storage/db/db.h"
#include "storage/jobs/idempotency.h"
#include "storage/jobs/job_transitions.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/sql.h"
#include "storage/writer/readers.h"
#include "storage/writer/store_clock.h"

namespace millrace::storage {
namespace {

using schemas::Artifact;

constexpr std::size_t kArtifactRowBytes = 512;

base::Error no_such_artifact() { return base::error(base::Code::kNotFound, "There is no such artifact"); }

// Identifies an artifact: its tenant, machine and id.
struct ArtifactPath {
  std::string tenant;
  base::Uuid machine, id;
};

struct Found {
  Artifact artifact;
  std::int64_t blob = 0;  // blobs.id
};

// An artifact is deleted with the execution's record (retention), which is kept for `options.job_age` after
// the end.
std::optional<Found> find(Db& db, const Store::Options& options, const ArtifactPath& path) {
  auto s = db.prepare(R"(
      SELECT a.job, a.name, a.mime_type, a.created_at, a.blob, b.bytes, b.sha256,
          j.completed_at - j.jumped_ms
      FROM artifacts AS a JOIN blobs AS b ON b.id = a.blob LEFT JOIN jobs AS j ON j.id = a.job
      WHERE a.id = ?1 AND a.machine = ?2 AND a.tenant = ?3)"_sql);
  if (!s.bind(path.id, path.machine, path.tenant).step()) return std::nullopt;
  Found found;
  Artifact& a = found.artifact;
  a.id = path.id;
  a.machine = path.machine;
  a.execution = {schemas::Kind::kExec, s.uuid(0)};
  a.name = s.text(1);
  a.mime_type = s.text(2);
  a.created_at = base::wall_from(s.integer(3));
  found.blob = s.integer(4);
  a.bytes = s.integer(5);
  a.sha256 = digest_at(s, 6);
  if (const auto ended = s.optional_integer(7))
    a.expires_at = base::wall_from(*ended) + clock_jumps(db) + options.job_age;
  return found;
}

struct ListQuery {
  const std::string& tenant;
  const base::Uuid& machine;
  int limit;
  std::optional<base::Uuid> before;
};

std::vector<base::Uuid> ids_of_machine(Db& db, const ListQuery& query) {
  const base::Uuid before = query.before.value_or(max_id());
  auto s = db.prepare(R"(
      SELECT id FROM artifacts INDEXED BY artifacts_listed
      WHERE machine = ?1 AND id < ?2 AND tenant = ?3
      ORDER BY id DESC LIMIT ?4)"_sql);
  s.bind(query.machine, before, query.tenant, query.limit);
  return ids(s);
}

std::vector<base::Uuid> ids_of_execution(Db& db, const ListQuery& query, const base::Uuid& job) {
  const base::Uuid before = query.before.value_or(max_id());
  auto s = db.prepare(R"(
      SELECT id FROM artifacts INDEXED BY artifacts_of
      WHERE job = ?1 AND id < ?2 AND tenant = ?3
          AND machine = ?4
      ORDER BY id DESC LIMIT ?5)"_sql);
  s.bind(job, before, query.tenant, query.machine, query.limit);
  return ids(s);
}

AuditEntry audit_entry(const Artifact& artifact, Caller by, const char* act) {
  return {.tenant = std::move(by.tenant),
          .actor = std::move(by.actor),
          .act = act,
          .target = schemas::artifact_id(artifact.id),
          .data = schemas::JsonObject()
                      .member("machine", schemas::machine_id(artifact.machine))
                      .member("execution", artifact.execution.str())
                      .member("sha256", base::hex(artifact.sha256))
                      .finish()};
}

base::Result<CallReply> remove_in(Tx& tx, const Store::Options& options, const ArtifactPath& path,
                                  const IdempotentCall& call, const ReplyBuilder<Artifact>& reply) {
  if (const auto before = find_stored_reply(tx, call)) return *before;
  const auto found = find(tx.db, options, path);
  if (!found) return no_such_artifact();
  const Artifact& artifact = found->artifact;
  tx.db.prepare("DELETE FROM artifacts WHERE id = ?1").bind(path.id).run();
  drop_ref(tx.db, found->blob);
  if (auto job = find_job(tx.db, artifact.execution.uuid)) count_bytes(tx, *job, -artifact.bytes);
  append_audit(tx, audit_entry(artifact, {path.tenant, call.actor}, "artifact.delete"));
  return store_reply(tx, call, reply(artifact));
}

}  // namespace

base::Result<Artifact> Artifacts::artifact(const std::string& tenant, const base::Uuid& machine,
                                           const base::Uuid& id) {
  auto found = read(store_.readers(), [&](Db& db) {
    return find(db, store_.options(), {tenant, machine, id});
  });
  if (!found) return found.error();
  if (!*found) return no_such_artifact();
  return std::move((*found)->artifact);
}

base::Result<std::vector<Artifact>> Artifacts::list(const std::string& tenant, const base::Uuid& machine,
                                                    int limit, std::optional<base::Uuid> before,
                                                    std::optional<schemas::JobId> execution) {
  std::vector<Artifact> items;
  if (limit <= 0) return items;
  const ListQuery query{tenant, machine, limit, before};
  auto status = store_.readers().read([&](Db& db) {
    const auto found = execution ? ids_of_execution(db, query, execution->uuid) : ids_of_machine(db, query);
    for (const base::Uuid& id : found) {
      if (auto row = find(db, store_.options(), {tenant, machine, id})) {
        items.push_back(std::move(row->artifact));
      }
    }
  });
  if (!status) return status.error();
  return items;
}

base::Result<OpenFile> Artifacts::open(const std::string& tenant, const base::Uuid& machine,
                                       const base::Uuid& id) {
  const auto blob = read(store_.readers(), [&](Db& db) -> base::Result<BlobRef> {
    auto s = db.prepare("SELECT blob FROM artifacts WHERE id = ?1 AND machine = ?2 AND tenant = ?3");
    if (!s.bind(id, machine, tenant).step()) return no_such_artifact();
    return referenced_blob(db, s.integer(0), "artifact " + id.str());
  });
  if (!blob) return blob.error();
  if (!*blob) return blob->error();
  return store_.blobs().open(**blob);
}

void Artifacts::remove(base::Uuid machine, base::Uuid id, IdempotentCall call, ReplyBuilder<Artifact> reply,
                       Callback<CallReply> done) {
  ArtifactPath path{call.tenant, machine, id};
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kArtifactRowBytes,
      [path = std::move(path), call = std::move(call), reply = std::move(reply),
       &options = store_.options()](Tx& tx) { return remove_in(tx, options, path, call, reply); },
      std::move(done));
}

void Artifacts::audit_download(const Artifact& artifact, Caller by, Callback<bool> done) {
  Audit(store_).append(audit_entry(artifact, std::move(by), "artifact.download"), std::move(done));
}

}  // namespace millrace::storage
