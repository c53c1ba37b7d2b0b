#include "storage/files/multipart_uploads.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "platform/base/bytes.h"
#include "storage/blobs/blob_rows.h"
#include "storage/db/columns.h"
#include "storage/db/db.h"
#include "storage/files/files.h"
#include "storage/jobs/idempotency.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/sql.h"
#include "storage/tenants/quota_ledger.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

using base::Code;
using schemas::MultipartUpload;
using schemas::UploadPart;
using schemas::UploadStatus;

constexpr std::size_t kUploadRowBytes = 512;
// Rows of parts that one step of maintenance deletes, about: one upload has at most kUploadPartsMax.
constexpr std::int64_t kPartsOfDrop = 2'000;

struct FoundUpload {
  MultipartUpload upload;
  std::string key_id;
  std::int64_t parts = 0, parts_bytes = 0;
  std::optional<base::Uuid> file;
};

std::optional<FoundUpload> find_upload(Db& db, const std::string& tenant, const base::Uuid& id,
                                       base::WallTime now) {
  auto s = db.prepare(R"(
      SELECT id, purpose, name, bytes, status, created_at, expires_at, file_life_ms, key_id, parts, parts_bytes, file
      FROM uploads WHERE id = ?1 AND tenant = ?2)"_sql);
  if (!s.bind(id, tenant).step()) return std::nullopt;
  FoundUpload found;
  MultipartUpload& upload = found.upload;
  upload.id = s.uuid(0);
  upload.purpose = s.text(1);
  upload.name = s.text(2);
  upload.bytes = s.integer(3);
  upload.status = static_cast<UploadStatus>(s.integer(4));
  upload.created_at = base::wall_from(s.integer(5));
  upload.expires_at = base::wall_from(s.integer(6));
  if (const auto life = s.optional_integer(7))
    upload.file_life = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::milliseconds(*life));
  found.key_id = s.optional_text(8).value_or("");
  found.parts = s.integer(9);
  found.parts_bytes = s.integer(10);
  found.file = s.optional_uuid(11);
  if (upload.status == UploadStatus::kPending && upload.expires_at <= now)
    upload.status = UploadStatus::kExpired;
  return found;
}

base::Error ended_error(const FoundUpload& found) {
  switch (found.upload.status) {
    case UploadStatus::kCompleted:
      return base::error(Code::kInvalidState,
                         "The upload has been completed" +
                             (found.file ? "; its file is " + schemas::stored_file_id(*found.file) : ""));
    case UploadStatus::kCancelled:
      return base::error(Code::kInvalidState, "The upload was cancelled; begin a new one");
    case UploadStatus::kPending:
    case UploadStatus::kExpired:
      break;
  }
  return base::error(Code::kInvalidState,
                     "The upload has expired: an upload must be completed within " +
                         std::to_string(std::chrono::minutes(schemas::kUploadLife).count()) +
                         " minutes; begin a new one");
}

// kNotFound, or kInvalidState: it has ended.
base::Result<FoundUpload> pending_upload(Db& db, const std::string& tenant, const base::Uuid& id,
                                         base::WallTime now) {
  auto found = find_upload(db, tenant, id, now);
  if (!found) return no_such_upload();
  if (found->upload.status != UploadStatus::kPending) return ended_error(*found);
  return *std::move(found);
}

struct UploadIntake {
  MultipartUpload upload;
  IdempotentCall call;
  ReplyBuilder<MultipartUpload> reply;
};

base::Result<CallReply> begin_upload(Tx& tx, const UploadIntake& intake) {
  const IdempotentCall& call = intake.call;
  if (const auto before = find_stored_reply(tx, call)) return *before;
  const MultipartUpload& upload = intake.upload;
  {
    auto pending = tx.db.prepare(R"(
        SELECT count(*) FROM (SELECT 1 FROM uploads
            WHERE tenant = ?1 AND status = 0 AND expires_at > ?2 LIMIT ?3) AS counted)"_sql);
    pending.bind(call.tenant, base::millis(tx.now), schemas::kPendingUploadsMax).step();
    if (pending.integer(0) >= schemas::kPendingUploadsMax)
      return base::error(Code::kQuotaFull, "The tenant has " + std::to_string(schemas::kPendingUploadsMax) +
                                               " pending uploads, which is the most: complete or cancel "
                                               "some, or wait until they expire");
  }
  const auto key_id = null_if_empty(call.actor);
  std::optional<std::int64_t> life_ms;
  if (upload.file_life) life_ms = std::chrono::milliseconds(*upload.file_life).count();
  tx.db
      .prepare(R"(
      INSERT INTO uploads (id, tenant, key_id, purpose, name, bytes, file_life_ms, status, parts, parts_bytes,
          created_at, expires_at)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0, ?8, ?9))"_sql)
      .bind(upload.id, call.tenant, key_id, upload.purpose, upload.name, upload.bytes, life_ms,
            base::millis(upload.created_at), base::millis(upload.expires_at))
      .run();
  return store_reply(tx, call, intake.reply(upload));
}

struct PartIntake {
  NewUploadPart part;
  IdempotentCall call;
  ReplyBuilder<UploadPart> reply;
};

// Whether a part of `bytes` may be added.
base::Status check_room(const FoundUpload& found, std::int64_t bytes) {
  if (found.parts >= schemas::kUploadPartsMax)
    return base::error(Code::kBadRequest, "The upload has " + std::to_string(schemas::kUploadPartsMax) +
                                              " parts, which is the most: send larger parts");
  const std::int64_t most = schemas::kUploadPartsFactor * found.upload.bytes;
  if (found.parts_bytes + bytes <= most) return {};
  return base::error(Code::kBadRequest,
                     "The parts have more bytes than the file can need: it was announced with " +
                         std::to_string(found.upload.bytes) + " bytes, and its parts have at most " +
                         std::to_string(schemas::kUploadPartsFactor) + " times as many together",
                     std::string(schemas::kUploadPartField));
}

base::Result<CallReply> add_upload_part(Tx& tx, const PartIntake& intake, BlobClaim& blob_claim) {
  const IdempotentCall& call = intake.call;
  if (const auto before = find_stored_reply(tx, call)) return *before;
  const UploadPart& part = intake.part.about;
  const auto found = pending_upload(tx.db, call.tenant, part.upload, tx.now);
  if (!found) return found.error();
  const std::int64_t bytes = intake.part.content->ref().bytes;
  if (auto fits = check_room(*found, bytes); !fits) return fits.error();
  const Owner owner{call.tenant, found->key_id};
  if (auto refused = tx.quotas.refusal(tx.db, owner, {.stored_bytes = bytes})) return *refused;
  const std::int64_t blob = blob_claim.take(tx.db, call.tenant, intake.part.content);
  tx.db.prepare("INSERT INTO upload_parts (id, upload, blob, created_at) VALUES (?1, ?2, ?3, ?4)")
      .bind(part.id, part.upload, blob, base::millis(part.created_at))
      .run();
  tx.db.prepare("UPDATE uploads SET parts = parts + 1, parts_bytes = parts_bytes + ?2 WHERE id = ?1")
      .bind(part.upload, bytes)
      .run();
  tx.quotas.add(tx.db, owner, {.stored_bytes = bytes});
  return store_reply(tx, call, intake.reply(part));
}

// Ends a pending upload and deletes its parts.
void end_upload(Tx& tx, const std::string& tenant, const FoundUpload& found, UploadStatus status,
                const std::optional<base::Uuid>& file = std::nullopt) {
  const base::Uuid& id = found.upload.id;
  tx.db
      .prepare(R"(
      UPDATE blobs SET refs = refs - (SELECT count(*) FROM upload_parts AS p WHERE p.upload = ?1 AND p.blob = blobs.id)
      WHERE id IN (SELECT blob FROM upload_parts WHERE upload = ?1))"_sql)
      .bind(id)
      .run();
  tx.db.prepare("DELETE FROM upload_parts WHERE upload = ?1").bind(id).run();
  tx.db.prepare("UPDATE uploads SET status = ?2, file = ?3, parts = 0, parts_bytes = 0 WHERE id = ?1")
      .bind(id, status, file)
      .run();
  tx.quotas.add(tx.db, {tenant, found.key_id}, {.stored_bytes = -found.parts_bytes});
}

struct CompletionIntake {
  UploadContent content;
  IdempotentCall call;
  ReplyBuilder<CompletedUpload> reply;
};

base::Result<CallReply> complete_upload(Tx& tx, const CompletionIntake& intake, BlobClaim& blob_claim) {
  const IdempotentCall& call = intake.call;
  if (const auto before = find_stored_reply(tx, call)) return *before;
  const auto found = pending_upload(tx.db, call.tenant, intake.content.upload, tx.now);
  if (!found) return found.error();
  CompletedUpload done{.upload = found->upload, .file = {}};
  done.upload.status = UploadStatus::kCompleted;
  const BlobRef& bytes = intake.content.bytes->ref();
  done.file = {.id = intake.content.file,
               .purpose = found->upload.purpose,
               .name = found->upload.name,
               .bytes = bytes.bytes,
               .sha256_hex = bytes.sha256_hex,
               .created_at = tx.now,
               .expires_at = {}};
  if (found->upload.file_life) done.file.expires_at = tx.now + *found->upload.file_life;
  const std::int64_t blob = blob_claim.take(tx.db, call.tenant, intake.content.bytes);
  // Its parts, which end here, have at least as many bytes: no quota can be exceeded.
  insert_file(tx, {call.tenant, found->key_id}, done.file, blob);
  end_upload(tx, call.tenant, *found, UploadStatus::kCompleted, done.file.id);
  return store_reply(tx, call, intake.reply(done));
}

base::Result<CallReply> cancel_upload(Tx& tx, const base::Uuid& id, const IdempotentCall& call,
                                      const ReplyBuilder<MultipartUpload>& reply) {
  if (const auto before = find_stored_reply(tx, call)) return *before;
  auto found = pending_upload(tx.db, call.tenant, id, tx.now);
  if (!found) return found.error();
  end_upload(tx, call.tenant, *found, UploadStatus::kCancelled);
  found->upload.status = UploadStatus::kCancelled;
  return store_reply(tx, call, reply(found->upload));
}

int expire_uploads(Tx& tx, int limit) {
  std::vector<std::pair<std::string, FoundUpload>> gone;
  std::int64_t parts = 0;
  bool is_full = false;
  {
    auto s = tx.db.prepare(R"(
        SELECT id, tenant, key_id, parts, parts_bytes FROM uploads
        WHERE status = 0 AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2)"_sql);
    s.bind(base::millis(tx.now), limit);
    while (!is_full && s.step()) {
      FoundUpload found;
      found.upload.id = s.uuid(0);
      found.key_id = s.optional_text(2).value_or("");
      found.parts = s.integer(3);
      found.parts_bytes = s.integer(4);
      parts += found.parts;
      gone.emplace_back(s.text(1), std::move(found));
      is_full = parts >= kPartsOfDrop;
    }
  }
  for (const auto& [tenant, found] : gone) end_upload(tx, tenant, found, UploadStatus::kExpired);
  return is_full ? limit : static_cast<int>(gone.size());
}

int forget_ended(Tx& tx, int limit) {
  auto s = tx.db.prepare(R"(
      DELETE FROM uploads
      WHERE id IN (SELECT id FROM uploads WHERE status <> 0 AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2))"_sql);
  s.bind(base::millis(tx.now - MultipartUploads::kEndedKept), limit).run();
  return s.changes();
}

base::Error not_of_upload(const base::Uuid& part) {
  return base::error(Code::kBadRequest,
                     "There is no part " + schemas::upload_part_id(part) + " in this upload", "part_ids");
}

base::Error wrong_sum(std::int64_t sum, std::int64_t bytes) {
  return base::error(Code::kBadRequest,
                     "The parts have " + std::to_string(sum) + " bytes together, but the upload was begun " +
                         "with `bytes` " + std::to_string(bytes),
                     "part_ids");
}

base::Result<std::vector<BlobRef>> parts_in_order(Db& db, const FoundUpload& found,
                                                  const std::vector<base::Uuid>& parts) {
  std::map<base::Uuid, BlobRef> refs;
  {
    auto s = db.prepare(R"(
        SELECT p.id, lower(hex(b.sha256)), b.path, b.bytes
        FROM upload_parts AS p JOIN blobs AS b ON b.id = p.blob WHERE p.upload = ?1)"_sql);
    s.bind(found.upload.id);
    while (s.step()) refs.emplace(s.uuid(0), BlobRef{s.text(1), s.text(2), s.integer(3)});
  }
  std::vector<BlobRef> ordered;
  std::int64_t sum = 0;
  for (const base::Uuid& part : parts) {
    const auto ref = refs.find(part);
    if (ref == refs.end()) return not_of_upload(part);
    sum += ref->second.bytes;
    ordered.push_back(ref->second);
  }
  if (sum != found.upload.bytes) return wrong_sum(sum, found.upload.bytes);
  return ordered;
}

}  // namespace

base::Error no_such_upload() { return base::error(Code::kNotFound, "There is no such upload"); }

void MultipartUploads::begin(MultipartUpload upload, IdempotentCall call, ReplyBuilder<MultipartUpload> reply,
                             Callback<CallReply> done) {
  UploadIntake intake{std::move(upload), std::move(call), std::move(reply)};
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kUploadRowBytes,
      [intake = std::move(intake)](Tx& tx) { return begin_upload(tx, intake); }, std::move(done));
}

void MultipartUploads::add_part(NewUploadPart part, IdempotentCall call, ReplyBuilder<UploadPart> reply,
                                Callback<CallReply> done) {
  auto blob_claim = std::make_shared<BlobClaim>();
  PartIntake intake{std::move(part), std::move(call), std::move(reply)};
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kUploadRowBytes,
      [intake = std::move(intake), blob_claim](Tx& tx) {
        blob_claim->begin();
        return add_upload_part(tx, intake, *blob_claim);
      },
      with_claim_commit<CallReply>(blob_claim, std::move(done)));
}

base::Result<std::vector<BlobRef>> MultipartUploads::parts(const std::string& tenant,
                                                           const base::Uuid& upload,
                                                           const std::vector<base::Uuid>& parts) {
  auto refs = read(store_.readers(), [&](Db& db) -> base::Result<std::vector<BlobRef>> {
    const auto found = pending_upload(db, tenant, upload, store_.clock().wall());
    return found ? parts_in_order(db, *found, parts) : found.error();
  });
  if (!refs) return refs.error();
  return *std::move(refs);
}

void MultipartUploads::complete(UploadContent content, IdempotentCall call,
                                ReplyBuilder<CompletedUpload> reply, Callback<CallReply> done) {
  auto blob_claim = std::make_shared<BlobClaim>();
  CompletionIntake intake{std::move(content), std::move(call), std::move(reply)};
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kUploadRowBytes,
      [intake = std::move(intake), blob_claim](Tx& tx) {
        blob_claim->begin();
        return complete_upload(tx, intake, *blob_claim);
      },
      with_claim_commit<CallReply>(blob_claim, std::move(done)));
}

void MultipartUploads::repeat(IdempotentCall call, base::Error otherwise, Callback<CallReply> done) {
  if (!call.key) return done(std::move(otherwise));
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kUploadRowBytes,
      [call = std::move(call), otherwise = std::move(otherwise)](Tx& tx) -> base::Result<CallReply> {
        if (const auto before = find_stored_reply(tx, call)) return *before;
        return otherwise;
      },
      std::move(done));
}

void MultipartUploads::cancel(base::Uuid upload, IdempotentCall call, ReplyBuilder<MultipartUpload> reply,
                              Callback<CallReply> done) {
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kUploadRowBytes,
      [upload, call = std::move(call), reply = std::move(reply)](Tx& tx) {
        return cancel_upload(tx, upload, call, reply);
      },
      std::move(done));
}

void MultipartUploads::drop_expired(int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done), [limit](Tx& tx) {
    if (!may_delete_rows(tx)) return 0;
    const int expired = expire_uploads(tx, limit);
    return expired < limit ? std::max(expired, forget_ended(tx, limit)) : expired;
  });
}

}  // namespace millrace::storage
