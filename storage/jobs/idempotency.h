#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "storage/db/db.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/jobs/job_intake.h"
#include "storage/jobs/job_rows.h"
#include "storage/writer/writer.h"

// Inside storage: what an Idempotency-Key has created (docs/design/delivery.md §2, rule 7, and §8).
// Read and written only in the write transaction.
namespace millrace::storage {

// A row is kept for this time after the end of its job, or as long as the job's row, whichever is later.
inline constexpr std::chrono::hours kIdempotencyAge{24};

// kIdempotencyReused for a body with fingerprint `sent`, when the first body had `stored` (32 bytes).
base::Error key_reused_error(std::string_view stored, const base::Sha256Digest& sent);

// (tenant, method, path, key) as 16 bytes: 128 bits of SHA-256, so nobody can find another key with the same
// value.
std::string idempotency_hash(std::string_view tenant, const IdempotencyKey& key);

void prefetch_key(Db& db, const std::string& hash);  // for find_key and claim_key
// What the key has created before, kIdempotencyReused, or kResultExpired: the job is deleted. Absent:
// nothing.
std::optional<base::Result<Submitted>> find_key(Db& db, const std::string& hash, const IdempotencyKey& key);

// Claims the key for `job`. Absent: the key is new and was claimed. Otherwise as find_key.
std::optional<base::Result<Submitted>> claim_key(Db& db, const std::string& hash, const IdempotencyKey& key,
                                                 const schemas::JobId& job);

// Call when the job row is deleted: deletes the key, or keeps it until `completed_at` + kIdempotencyAge.
void release_key(Tx& tx, const JobRow& row);

// Inside storage: first replies of calls under /v1/machines that created no job (docs/design/delivery.md §8).

// The stored reply for the call's key, or kIdempotencyReused. Absent: the key is new, or the call has none.
std::optional<base::Result<CallReply>> find_stored_reply(Tx& tx, const IdempotentCall& call);

// Stores the body as the first reply for the call's key, for kIdempotencyAge, and returns it.
CallReply store_reply(Tx& tx, const IdempotentCall& call, std::string body);

}  // namespace millrace::storage
