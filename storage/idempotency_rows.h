#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "storage/job_intake.h"
#include "storage/job_rows.h"
#include "storage/sqlite.h"
#include "storage/writer.h"

// Inside storage: what a key has made (delivery.md, rule 7 and Idempotency-Key). Read and written inside the
// write transaction only.
namespace millrace::storage {

// A row outlives the end of its job by this, or lives as long as the job's row, whichever is later.
inline constexpr std::chrono::hours kIdempotencyAge{24};

// kIdempotencyReused of a body with the fingerprint `sent`, where `stored` (32 bytes) was the first.
base::Error reused(std::string_view stored, const base::Sha256Digest& sent);

// (tenant, method, path, key) as 16 bytes. 128 bits of SHA-256: nobody finds another's.
std::string idempotency_hash(std::string_view tenant, const IdempotencyKey& key);

// What the key has made before, or kIdempotencyReused. Absent: nothing.
std::optional<base::Result<Submitted>> find_key(Db& db, const std::string& hash, const IdempotencyKey& key);

// Takes the key for `job`. Absent: it is new, and taken now. Otherwise what it had made before, or
// kIdempotencyReused.
std::optional<base::Result<Submitted>> take_key(Db& db, const std::string& hash, const IdempotencyKey& key,
                                                const schemas::JobId& job);

// The job row goes: the key goes with it, or stays until `completed_at` + kIdempotencyAge.
void release_key(Db& db, const JobRow& row, base::WallTime now);

}  // namespace millrace::storage
