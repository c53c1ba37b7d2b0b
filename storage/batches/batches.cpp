#include "storage/batches/batches.h"

#include <memory>
#include <utility>

#include "storage/admin/audit.h"
#include "storage/batches/batch_line.h"
#include "storage/batches/batch_rows.h"
#include "storage/blobs/blob_rows.h"
#include "storage/db/columns.h"
#include "storage/files/files.h"
#include "storage/jobs/idempotency.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/jobs/payload_rows.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

using schemas::Batch;
using schemas::BatchStatus;

constexpr std::size_t kBatchRowBytes = 1024;

struct BatchIntake {
  NewBatch batch;
  IdempotentCall call;
};

std::optional<base::Error> open_batches_refusal(Db& db, const std::string& tenant, int most) {
  auto s = db.prepare("SELECT count(*) FROM batches WHERE tenant = ?1 AND status < {first_over}"_sql);
  s.bind(tenant).step();
  if (s.integer(0) < most) return std::nullopt;
  return base::error(
      base::Code::kQuotaExceeded,
      "The tenant has " + std::to_string(most) + " open batches (batches.open_max): wait until one is over",
      "open_batches");
}

// The content of the input, which the batch shares with its file.
base::Result<std::int64_t> take_input(Tx& tx, const BatchIntake& intake, BlobClaim& blob_claim) {
  const std::string& tenant = intake.call.tenant;
  if (intake.batch.input) return blob_claim.take(tx.db, tenant, intake.batch.input);
  const auto blob = blob_of_file(tx.db, tenant, *intake.batch.about.input_file, tx.now);
  if (!blob) return no_such_file();
  add_ref(tx.db, *blob);
  return *blob;
}

base::Result<CallReply> add_batch(Tx& tx, const BatchIntake& intake, BlobClaim& blob_claim) {
  const IdempotentCall& call = intake.call;
  const Batch& batch = intake.batch.about;
  if (const auto before = find_stored_reply(tx, call)) return *before;
  if (auto refused = open_batches_refusal(tx.db, call.tenant, intake.batch.open_max)) return *refused;
  const auto input = take_input(tx, intake, blob_claim);
  if (!input) return input.error();
  const auto output_seconds =
      batch.output_life ? std::optional<std::int64_t>(batch.output_life->count()) : std::nullopt;
  const base::Uuid output_file = base::Uuid::make(tx.now), error_file = base::Uuid::make(tx.now);
  const auto model = null_if_empty(batch.model), metadata = null_if_empty(batch.metadata);
  tx.db
      .prepare(R"(
      INSERT INTO batches (id, tenant, key_id, shape, status, endpoint, model, input_file, input,
          completion_window, metadata, cost_max, output_seconds, output_file, error_file, created_at,
          expires_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17))"_sql)
      .bind(batch.id, call.tenant, call.actor, batch.shape, batch.status, batch.endpoint, model,
            batch.input_file, *input, batch.window, metadata, batch.cost_max, output_seconds, output_file,
            error_file, base::millis(batch.created_at), base::millis(batch.expires_at))
      .run();
  append_audit(tx, {.tenant = call.tenant,
                    .actor = call.actor,
                    .act = "batch.create",
                    .target = schemas::batch_id(batch.id)});
  return store_reply(tx, call, schemas::own_batch_json(batch));
}

base::Result<CallReply> cancel_batch(Tx& tx, const base::Uuid& id, const IdempotentCall& call,
                                     const ReplyBuilder<Batch>& reply) {
  if (const auto before = find_stored_reply(tx, call)) return *before;
  auto found = find_batch(tx.db, id);
  if (!found || found->tenant != call.tenant) return no_such_batch();
  Batch& batch = found->batch;
  const bool is_cancelled =
      batch.status == BatchStatus::kCancelling || batch.status == BatchStatus::kCancelled;
  if (!is_cancelled) {
    if (batch.status != BatchStatus::kValidating && batch.status != BatchStatus::kInProgress)
      return base::error(base::Code::kInvalidState,
                         "The batch is " + std::string(schemas::name(batch.status)) +
                             "; only one that is validating or in progress can be cancelled");
    batch.status = BatchStatus::kCancelling;
    batch.cancelling_at = tx.now;
    tx.db.prepare("UPDATE batches SET status = ?2, cancelling_at = ?3 WHERE id = ?1")
        .bind(id, batch.status, base::millis(tx.now))
        .run();
    append_audit(
        tx,
        {.tenant = call.tenant, .actor = call.actor, .act = "batch.cancel", .target = schemas::batch_id(id)});
  }
  return store_reply(tx, call, reply(batch));
}

int clear_outputs(Tx& tx, int limit) {
  std::vector<std::tuple<base::Uuid, std::int64_t, std::int64_t, std::optional<std::int64_t>>> gone;
  {
    auto s = tx.db.prepare(R"(
        SELECT o.batch, o.is_error, o.sequence, o.blob FROM batches AS b
        JOIN batch_outputs AS o ON o.batch = b.id
        WHERE b.ended_at IS NOT NULL AND b.input IS NOT NULL LIMIT ?1)"_sql);
    s.bind(limit);
    while (s.step()) gone.emplace_back(s.uuid(0), s.integer(1), s.integer(2), s.optional_integer(3));
  }
  for (const auto& [batch, is_error, sequence, blob] : gone) {
    drop_ref(tx.db, blob);
    tx.db.prepare("DELETE FROM batch_outputs WHERE batch = ?1 AND is_error = ?2 AND sequence = ?3")
        .bind(batch, is_error, sequence)
        .run();
  }
  return static_cast<int>(gone.size());
}

// Lines that never became jobs are in the files of their batch, which is over.
int clear_lines(Tx& tx, int limit) {
  auto s = tx.db.prepare(R"(
      SELECT b.id FROM batches AS b WHERE b.ended_at IS NOT NULL AND b.input IS NOT NULL
          AND EXISTS (SELECT 1 FROM batch_lines AS l WHERE l.batch = b.id AND l.job IS NULL) LIMIT 1)"_sql);
  if (!s.step()) return 0;
  const base::Uuid id = s.uuid(0);
  s.run();
  auto gone = tx.db.prepare(R"(
      DELETE FROM batch_lines WHERE batch = ?1 AND line IN (
          SELECT line FROM batch_lines WHERE batch = ?1 AND job IS NULL LIMIT ?2))"_sql);
  gone.bind(id, limit).run();
  return gone.changes();
}

// A batch that is over and has no outputs left no longer needs its input.
int release_inputs(Tx& tx, int limit) {
  std::vector<std::pair<base::Uuid, std::int64_t>> over;
  {
    auto s = tx.db.prepare(R"(
        SELECT id, input FROM batches WHERE ended_at IS NOT NULL AND input IS NOT NULL LIMIT ?1)"_sql);
    s.bind(limit);
    while (s.step()) over.emplace_back(s.uuid(0), s.integer(1));
  }
  for (const auto& [id, input] : over) {
    drop_ref(tx.db, input);
    tx.db.prepare("UPDATE batches SET input = NULL WHERE id = ?1").bind(id).run();
  }
  return static_cast<int>(over.size());
}

// Returns the number of rows.
int drop_old(Tx& tx, std::chrono::milliseconds age, int limit) {
  const std::int64_t until = base::millis(tx.now - age);
  int rows = 0;
  while (rows < limit) {
    auto s = tx.db.prepare("SELECT id FROM batches WHERE ended_at <= ?1 ORDER BY ended_at LIMIT 1");
    if (!s.bind(until).step()) return rows;
    const base::Uuid id = s.uuid(0);
    s.run();
    const int most = limit - rows, lines = delete_lines(tx.db, id, most);
    rows += lines;
    if (lines == most) return rows;
    tx.db.prepare("DELETE FROM batches WHERE id = ?1").bind(id).run();
    ++rows;
  }
  return rows;
}

int drop_ended_batches(Tx& tx, std::chrono::milliseconds age, int limit) {
  if (const int cleared = clear_outputs(tx, limit); cleared > 0) return limit;  // until none is left
  if (clear_lines(tx, limit) > 0) return limit;
  if (const int released = release_inputs(tx, limit); released > 0) return released;
  return may_delete_rows(tx) ? drop_old(tx, age, limit) : 0;
}

}  // namespace

base::Error no_such_batch() { return base::error(base::Code::kNotFound, "There is no such batch"); }

void Batches::add(NewBatch batch, IdempotentCall call, Callback<CallReply> done) {
  auto blob_claim = std::make_shared<BlobClaim>();
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kBatchRowBytes,
      [intake = BatchIntake{std::move(batch), std::move(call)}, blob_claim](Tx& tx) {
        blob_claim->begin();
        return add_batch(tx, intake, *blob_claim);
      },
      with_claim_commit<CallReply>(blob_claim, std::move(done)));
}

base::Result<Batch> Batches::batch(const std::string& tenant, const base::Uuid& id) {
  auto found = read(store_.readers(), [&](Db& db) { return find_batch(db, id); });
  if (!found) return found.error();
  if (!*found || (*found)->tenant != tenant) return no_such_batch();
  return std::move((*found)->batch);
}

base::Result<std::vector<Batch>> Batches::list(const std::string& tenant, const BatchListQuery& query) {
  return read(store_.readers(), [&](Db& db) {
    std::vector<Batch> batches;
    std::vector<base::Uuid> found;
    {
      const base::Uuid after = query.after.value_or(max_id());
      auto s = db.prepare(
          "SELECT id FROM batches WHERE tenant = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3 OFFSET ?4");
      s.bind(tenant, after, query.limit, query.skip);
      while (s.step()) found.push_back(s.uuid(0));
    }
    for (const base::Uuid& id : found) {
      if (auto row = find_batch(db, id)) batches.push_back(std::move(row->batch));
    }
    return batches;
  });
}

base::Result<std::int64_t> Batches::count(const std::string& tenant, std::int64_t most) {
  return read(store_.readers(), [&](Db& db) {
    auto s = db.prepare("SELECT count(*) FROM (SELECT 1 FROM batches WHERE tenant = ?1 LIMIT ?2) AS counted");
    s.bind(tenant, most).step();
    return s.integer(0);
  });
}

void Batches::cancel(base::Uuid id, IdempotentCall call, ReplyBuilder<Batch> reply,
                     Callback<CallReply> done) {
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kBatchRowBytes,
      [id, call = std::move(call), reply = std::move(reply)](Tx& tx) {
        return cancel_batch(tx, id, call, reply);
      },
      std::move(done));
}

base::Result<std::vector<Batches::OutputLine>> Batches::outputs(const base::Uuid& id, bool is_error,
                                                                std::int64_t after, int limit) {
  return read(store_.readers(), [&](Db& db) {
    std::vector<OutputLine> lines;
    auto s = db.prepare(R"(
        SELECT sequence, bytes, blob, hash FROM batch_outputs
        WHERE batch = ?1 AND is_error = ?2 AND sequence > ?3 ORDER BY sequence LIMIT ?4)"_sql);
    s.bind(id, is_error, after, limit);
    while (s.step()) {
      const std::string row = "batch_outputs " + id.str() + " " + std::to_string(s.integer(0));
      lines.push_back({s.integer(0), payload_at(db, s, 1, base::Code::kResultDamaged, row)});
    }
    return lines;
  });
}

base::Result<std::optional<Batches::OpenOutput>> Batches::open_output(const std::string& tenant,
                                                                      const base::Uuid& file) {
  return read(store_.readers(), [&](Db& db) -> std::optional<OpenOutput> {
    auto s = db.prepare(R"(
        SELECT id, error_file = ?2 FROM batches
        WHERE status < {first_over} AND tenant = ?1 AND (output_file = ?2 OR error_file = ?2))"_sql);
    if (!s.bind(tenant, file).step()) return std::nullopt;
    return OpenOutput{.batch = s.uuid(0), .is_error = s.integer(1) != 0};
  });
}

void Batches::drop_ended(std::chrono::milliseconds age, int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [age, limit](Tx& tx) { return drop_ended_batches(tx, age, limit); });
}

}  // namespace millrace::storage
