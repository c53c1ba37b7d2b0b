#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/blobs/blob_rows.h"
#include "storage/db/db.h"
#include "storage/jobs/job_outcomes.h"
#include "storage/jobs/job_queries.h"
#include "storage/jobs/job_rows.h"

// Inside storage: specs, results and parts, stored inline or as a reference to a blob. Inline bytes are
// stored with their hash. A read returns them only if the hash matches; otherwise, and if the row or its blob
// is missing, the payload is `damaged`, and the log names the row.
namespace millrace::storage {

struct SpecRow {
  std::string traceparent;
  StoredPayload payload;
  std::optional<std::int64_t> blob;  // blobs.id
  std::string name;                  // of the job, if the spec is a blob
};

// Return the id of the new row. `blob` is a blobs.id; the row takes over its reference.
std::int64_t insert_spec(Db& db, const NewSpec& spec);
std::int64_t insert_result(Db& db, std::string_view bytes, std::optional<std::int64_t> blob);

// nullopt: `id` is absent.
void prefetch_spec(Db& db, std::int64_t id);  // for find_spec
std::optional<SpecRow> find_spec(Db& db, std::optional<std::int64_t> id);
std::string traceparent_of(Db& db, std::optional<std::int64_t> spec);
std::optional<StoredPayload> find_result(Db& db, std::optional<std::int64_t> id);

// The size of a stored spec; 0: there is none.
std::int64_t spec_bytes(Db& db, std::optional<std::int64_t> id);
// The size of a payload that is to be stored.
std::int64_t payload_bytes(const Payload& payload);

void drop_spec(Db& db, std::optional<std::int64_t> id);
void drop_result(Db& db, std::optional<std::int64_t> id);
void drop_parts(Db& db, const base::Uuid& root);

// Reads the columns `bytes`, `blob`, `hash` of a row. `damaged` is the code to set if the hash does not
// match; `row_name` is for the log.
StoredPayload payload_at(Db& db, const Statement& row, int bytes_column, base::Code damaged,
                         const std::string& row_name);

enum class PartWrite { kNew, kReplaced, kKept };
struct WrittenPart {
  PartWrite how = PartWrite::kKept;
  std::int64_t bytes_added = 0;  // negative: the replaced part was larger
};
WrittenPart write_part(Db& db, BlobClaim& blob_claim, const JobRow& root, const JobOutcomes::Part& part);

}  // namespace millrace::storage
