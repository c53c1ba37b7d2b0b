#include "storage/jobs/payload_rows.h"

#include "platform/base/log.h"
#include "storage/db/columns.h"
#include "storage/jobs/job_rows.h"
#include "storage/sql.h"

namespace millrace::storage {

std::int64_t insert_spec(Db& db, const NewSpec& spec) {
  auto s = db.prepare(R"(
      INSERT INTO job_specs (id, traceparent, bytes, blob, hash, name)
      VALUES ((SELECT coalesce(max(id), 0) + 1 FROM job_specs), ?1, ?2, ?3, ?4, ?5) RETURNING id)"_sql);
  s.bind(null_if_empty(spec.traceparent), inline_bytes(spec.bytes, spec.blob), spec.blob,
         inline_hash(spec.bytes, spec.blob), spec.blob ? null_if_empty(spec.name) : std::nullopt);
  s.step();
  const std::int64_t id = s.integer(0);
  s.run();  // SQLite ends the statement after its last row
  return id;
}

// Not by RETURNING, which costs SQLite a microsecond a row.
std::int64_t insert_result(Db& db, std::string_view bytes, std::optional<std::int64_t> blob) {
  if (const auto id = db.next_result_id()) {
    db.prepare("INSERT INTO job_results (id, bytes, blob, hash) VALUES (?1, ?2, ?3, ?4)")
        .bind(*id, inline_bytes(bytes, blob), blob, inline_hash(bytes, blob))
        .run();
    return *id;
  }
  db.prepare("INSERT INTO job_results (bytes, blob, hash) VALUES (?1, ?2, ?3)")
      .bind(inline_bytes(bytes, blob), blob, inline_hash(bytes, blob))
      .run();
  return db.last_row_id();
}

namespace {

// A row that another row refers to, and that is not there.
StoredPayload missing_row(base::Code damaged, const std::string& row_name) {
  base::log_error("store_row_missing", {{"row", row_name}});
  return {.bytes = {}, .blob = {}, .damaged = damaged};
}

}  // namespace

StoredPayload payload_at(Db& db, const Statement& row, int bytes_column, base::Code damaged,
                         const std::string& row_name) {
  StoredPayload payload;
  if (const auto blob = row.optional_integer(bytes_column + 1)) {
    payload.blob = find_blob(db, *blob);
    if (!payload.blob) return missing_row(damaged, "blobs " + std::to_string(*blob) + " of " + row_name);
    return payload;
  }
  payload.bytes = row.blob(bytes_column);
  const auto hash = row.optional_integer(bytes_column + 2);
  if (hash && hash != inline_hash(payload.bytes, std::nullopt)) {
    base::log_error("store_row_damaged", {{"row", row_name}, {"bytes", payload.bytes.size()}});
    payload.bytes.clear();
    payload.damaged = damaged;
  }
  return payload;
}

namespace {

constexpr Sql kFindSpec = "SELECT traceparent, bytes, blob, hash, name FROM job_specs WHERE id = ?1";

}  // namespace

void prefetch_spec(Db& db, std::int64_t id) { db.prefetch(kFindSpec, id); }

std::optional<SpecRow> find_spec(Db& db, std::optional<std::int64_t> id) {
  if (!id) return std::nullopt;
  auto s = db.prepare(kFindSpec);
  const std::string name = "job_specs " + std::to_string(*id);
  if (!s.bind(*id).step()) return SpecRow{{}, missing_row(base::Code::kRequestDamaged, name), {}, {}};
  return SpecRow{s.text(0), payload_at(db, s, 1, base::Code::kRequestDamaged, name), s.optional_integer(2),
                 s.text(4)};
}

std::string traceparent_of(Db& db, std::optional<std::int64_t> spec) {
  if (!spec) return {};
  auto s = db.prepare("SELECT traceparent FROM job_specs WHERE id = ?1");
  return s.bind(*spec).step() ? s.text(0) : std::string();
}

std::optional<StoredPayload> find_result(Db& db, std::optional<std::int64_t> id) {
  if (!id) return std::nullopt;
  auto s = db.prepare("SELECT bytes, blob, hash FROM job_results WHERE id = ?1");
  const std::string name = "job_results " + std::to_string(*id);
  if (!s.bind(*id).step()) return missing_row(base::Code::kResultDamaged, name);
  return payload_at(db, s, 0, base::Code::kResultDamaged, name);
}

void drop_spec(Db& db, std::optional<std::int64_t> id) {
  if (!id) return;
  auto s = db.prepare("DELETE FROM job_specs WHERE id = ?1 RETURNING blob");
  if (s.bind(*id).step()) drop_ref(db, s.optional_integer(0));
}

void drop_result(Db& db, std::optional<std::int64_t> id) {
  if (!id) return;
  auto s = db.prepare("DELETE FROM job_results WHERE id = ?1 RETURNING blob");
  if (s.bind(*id).step()) drop_ref(db, s.optional_integer(0));
}

void drop_parts(Db& db, const base::Uuid& root) {
  auto s = db.prepare("DELETE FROM job_parts WHERE root = ?1 RETURNING blob");
  s.bind(root);
  while (s.step()) drop_ref(db, s.optional_integer(0));
}

std::int64_t spec_bytes(Db& db, std::optional<std::int64_t> id) {
  if (!id) return 0;
  auto s = db.prepare(R"(
      SELECT coalesce(b.bytes, length(s.bytes), 0)
      FROM job_specs AS s LEFT JOIN blobs AS b ON b.id = s.blob
      WHERE s.id = ?1)"_sql);
  return s.bind(*id).step() ? s.integer(0) : 0;
}

std::int64_t payload_bytes(const Payload& payload) {
  return payload.blob ? payload.blob->ref().bytes : static_cast<std::int64_t>(payload.bytes.size());
}

WrittenPart write_part(Db& db, BlobClaim& blob_claim, const JobRow& root, const JobOutcomes::Part& part) {
  std::optional<std::int64_t> old_id, old_blob;
  std::int64_t old_bytes = 0;
  {
    auto s = db.prepare(R"(
        SELECT p.id, p.blob, coalesce(b.bytes, length(p.bytes), 0)
        FROM job_parts AS p LEFT JOIN blobs AS b ON b.id = p.blob
        WHERE p.root = ?1 AND p.part_index = ?2)"_sql);
    if (s.bind(root.id, part.index).step()) {
      old_id = s.integer(0);
      old_blob = s.optional_integer(1);
      old_bytes = s.integer(2);
    }
  }
  if (old_id && !part.replace) return {};
  const std::int64_t bytes = payload_bytes(part.payload);
  std::optional<std::int64_t> blob;
  if (part.payload.blob) blob = blob_claim.take(db, root.tenant, part.payload.blob);
  if (old_id) {
    db.prepare("UPDATE job_parts SET bytes = ?2, blob = ?3, hash = ?4 WHERE id = ?1")
        .bind(*old_id, inline_bytes(part.payload.bytes, blob), blob, inline_hash(part.payload.bytes, blob))
        .run();
    drop_ref(db, old_blob);
    return {PartWrite::kReplaced, bytes - old_bytes};
  }
  db.prepare(R"(
      INSERT INTO job_parts (root, part_index, bytes, blob, hash) VALUES (?1, ?2, ?3, ?4, ?5))"_sql)
      .bind(root.id, part.index, inline_bytes(part.payload.bytes, blob), blob,
            inline_hash(part.payload.bytes, blob))
      .run();
  return {PartWrite::kNew, bytes};
}

}  // namespace millrace::storage
