#include "storage/artifact_rows.h"

#include <algorithm>
#include <utility>

#include "schemas/json_text.h"
#include "schemas/machine.h"
#include "storage/audit_rows.h"
#include "storage/blob_rows.h"
#include "storage/call_replies.h"
#include "storage/columns.h"
#include "storage/readers.h"
#include "storage/sqlite.h"
#include "storage/upkeep_steps.h"

namespace millrace::storage {
namespace {

using schemas::Artifact;

constexpr std::size_t kArtifactRowBytes = 512;

base::Error no_such_artifact() { return base::error(base::Code::kNotFound, "no such artifact"); }

// Whose it is, and where it is.
struct Place {
  std::string tenant;
  base::Uuid machine, id;
};

struct Found {
  Artifact artifact;
  std::int64_t blob = 0;  // blobs.id
};

// It goes with the execution's record (retention), which `options` keep for so long after the end.
std::optional<Found> find(Db& db, const Store::Options& options, const Place& place) {
  auto s = db.prepare(
      "SELECT a.job, a.name, a.mime_type, a.created_at, a.blob, b.bytes, b.sha256, j.completed_at "
      "FROM artifacts AS a JOIN blobs AS b ON b.id = a.blob LEFT JOIN jobs AS j ON j.id = a.job "
      "WHERE a.id = ?1 AND a.machine = ?2 AND a.tenant = ?3");
  if (!s.bind(place.id, place.machine, place.tenant).step()) return std::nullopt;
  Found found;
  Artifact& a = found.artifact;
  a.id = place.id;
  a.machine = place.machine;
  a.execution = {schemas::Kind::kExec, s.uuid(0)};
  a.name = s.text(1);
  a.mime_type = s.text(2);
  a.created_at = base::wall_from(s.integer(3));
  found.blob = s.integer(4);
  a.bytes = s.integer(5);
  a.sha256 = digest_at(s, 6);
  if (const auto ended = s.optional_integer(7)) a.expires_at = base::wall_from(*ended) + options.job_age;
  return found;
}

struct Wanted {
  const std::string& tenant;
  const base::Uuid& machine;
  int limit;
  std::optional<base::Uuid> before;
};

std::vector<base::Uuid> ids_of_machine(Db& db, const Wanted& wanted) {
  auto s = db.prepare(
      "SELECT id FROM artifacts INDEXED BY artifacts_listed WHERE machine = ?1 "
      "AND id < coalesce(?2, x'ffffffffffffffffffffffffffffffff') AND tenant = ?3 ORDER BY id DESC LIMIT ?4");
  s.bind(wanted.machine, wanted.before, wanted.tenant, wanted.limit);
  return ids(s);
}

std::vector<base::Uuid> ids_of_execution(Db& db, const Wanted& wanted, const base::Uuid& job) {
  auto s = db.prepare(
      "SELECT id FROM artifacts INDEXED BY artifacts_of WHERE job = ?1 "
      "AND id < coalesce(?2, x'ffffffffffffffffffffffffffffffff') AND tenant = ?3 AND machine = ?4 "
      "ORDER BY id DESC LIMIT ?5");
  s.bind(job, wanted.before, wanted.tenant, wanted.machine, wanted.limit);
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

base::Result<Answer> remove_in(Tx& tx, const Store::Options& options, const Place& place,
                               const MachineCall& call, const Compose<Artifact>& reply) {
  if (const auto before = reply_before(tx, call)) return *before;
  const auto found = find(tx.db, options, place);
  if (!found) return no_such_artifact();
  const Artifact& artifact = found->artifact;
  tx.db.prepare("DELETE FROM artifacts WHERE id = ?1").bind(place.id).run();
  drop_ref(tx.db, found->blob);
  append_audit(tx, audit_entry(artifact, {place.tenant, call.actor}, "artifact.delete"));
  return keep_reply(tx, call, reply(artifact));
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
  const Wanted wanted{tenant, machine, limit, before};
  auto status = store_.readers().read([&](Db& db) {
    const auto found = execution ? ids_of_execution(db, wanted, execution->uuid) : ids_of_machine(db, wanted);
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
  const auto blob = read(store_.readers(), [&](Db& db) -> std::optional<BlobRef> {
    const auto found = find(db, store_.options(), {tenant, machine, id});
    if (!found) return std::nullopt;
    return find_blob(db, found->blob);
  });
  if (!blob) return blob.error();
  if (!*blob) return no_such_artifact();
  return store_.blobs().open(**blob);
}

void Artifacts::remove(base::Uuid machine, base::Uuid id, MachineCall call, Compose<Artifact> reply,
                       Done<Answer> done) {
  Place place{call.tenant, machine, id};
  submit_move<Answer>(
      store_.writer(), Writer::Priority::kAsked, kArtifactRowBytes,
      [place = std::move(place), call = std::move(call), reply = std::move(reply),
       &options = store_.options()](Tx& tx) { return remove_in(tx, options, place, call, reply); },
      std::move(done));
}

void Artifacts::tell_of_download(const Artifact& artifact, Caller by, Done<bool> done) {
  Audit(store_).append(audit_entry(artifact, std::move(by), "artifact.download"), std::move(done));
}

}  // namespace millrace::storage
