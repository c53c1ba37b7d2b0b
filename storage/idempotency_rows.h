#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "storage/job_intake.h"
#include "storage/job_rows.h"
#include "storage/sqlite.h"
#include "storage/writer.h"

// Inside storage: what an Idempotency-Key has created (docs/design/delivery.md, rule 7 and Idempotency-Key).
// Read and written only in the write transaction.
namespace millrace::storage {

// A row is kept for this time after the end of its job, or as long as the job's row, whichever is later.
inline constexpr std::chrono::hours kIdempotencyAge{24};

// kIdempotencyReused for a body with fingerprint `sent`, when the first body had `stored` (32 bytes).
base::Error reused(std::string_view stored, const base::Sha256Digest& sent);

// (tenant, method, path, key) as 16 bytes: 128 bits of SHA-256, so nobody can find another key with the same
// value.
std::string idempotency_hash(std::string_view tenant, const IdempotencyKey& key);

// What the key has created before, or kIdempotencyReused. Absent: nothing.
std::optional<base::Result<Submitted>> find_key(Db& db, const std::string& hash, const IdempotencyKey& key);

// Claims the key for `job`. Absent: the key is new and was claimed. Otherwise what it has created before, or
// kIdempotencyReused.
std::optional<base::Result<Submitted>> take_key(Db& db, const std::string& hash, const IdempotencyKey& key,
                                                const schemas::JobId& job);

// Call when the job row is deleted: deletes the key, or keeps it until `completed_at` + kIdempotencyAge.
void release_key(Db& db, const JobRow& row, base::WallTime now);

}  // namespace millrace::storage
