#include <algorithm>
#include <vector>

#include <unistd.h>

#include "storage/blobs/blob_rows.h"
#include "storage/db/db.h"
#include "storage/files/files.h"
#include "storage/files/multipart_uploads.h"
#include "storage/files/part_join.h"
#include "storage/writer/readers.h"
#include "tests/contract/store_contract.h"

// Files that are uploaded in parts, in every store.
namespace millrace::storage::testing {
namespace {

using schemas::MultipartUpload;

const std::string kHelloMd5 = "5d41402abc4b2a76b9719d911017c592";

class PartUploads : public Delivery {
 protected:
  base::Uuid new_uuid() { return base::Uuid::make(s_.clock.wall()); }
  IdempotentCall call(const std::string& tenant = kTenant, const std::string& key = {}) {
    IdempotentCall made{.tenant = tenant, .actor = {}, .key = {}};
    if (!key.empty()) made.key = IdempotencyKey{"POST", "/v1/uploads", key, {}};
    return made;
  }
  base::Result<CallReply> try_begin(const base::Uuid& id, std::int64_t bytes,
                                    std::optional<std::chrono::seconds> life = {}) {
    MultipartUpload upload{.id = id,
                           .purpose = "batch",
                           .name = "a.txt",
                           .bytes = bytes,
                           .created_at = s_.clock.wall(),
                           .expires_at = s_.clock.wall() + schemas::kUploadLife,
                           .file_life = life};
    return await<CallReply>([&](auto done) {
      uploads_.begin(
          upload, call(), [](const MultipartUpload& begun) { return schemas::multipart_upload_json(begun); },
          done);
    });
  }
  base::Uuid begin(std::int64_t bytes, std::optional<std::chrono::seconds> life = {}) {
    const base::Uuid id = new_uuid();
    EXPECT_TRUE(try_begin(id, bytes, life));
    return id;
  }
  base::Result<CallReply> try_part(const base::Uuid& upload, const base::Uuid& id, const std::string& content,
                                   const IdempotentCall& call) {
    NewUploadPart part{.about = {.id = id, .upload = upload, .created_at = s_.clock.wall()},
                       .content = stage(s_.store().blobs(), content).value()};
    return await<CallReply>(
        [&](auto done) { uploads_.add_part(std::move(part), call, &schemas::upload_part_json, done); });
  }
  base::Uuid part(const base::Uuid& upload, const std::string& content) {
    const base::Uuid id = new_uuid();
    const auto added = try_part(upload, id, content, call());
    EXPECT_TRUE(added) << added.error().message;
    return id;
  }
  base::Result<Staged> join(const base::Uuid& upload, const std::vector<base::Uuid>& parts,
                            const std::string& md5 = {}) {
    const auto refs = uploads_.parts(kTenant, upload, parts);
    if (!refs) return refs.error();
    PartJoin joined(s_.store().blobs(), *refs, md5);
    while (true) {
      const auto done = joined.step();
      if (!done) return done.error();
      if (*done) return joined.finish();
    }
  }
  base::Result<CallReply> finish(const base::Uuid& upload, Staged bytes, const IdempotentCall& call) {
    return await<CallReply>([&](auto done) {
      uploads_.complete(
          {.upload = upload, .file = new_uuid(), .bytes = std::move(bytes)}, call,
          [](const CompletedUpload& completed) { return schemas::stored_file_id(completed.file.id); }, done);
    });
  }
  base::Result<CallReply> complete(const base::Uuid& upload, const std::vector<base::Uuid>& parts) {
    auto bytes = join(upload, parts);
    if (!bytes) return bytes.error();
    return finish(upload, *std::move(bytes), call());
  }
  base::Result<CallReply> cancel(const base::Uuid& upload, const std::string& tenant = kTenant) {
    return await<CallReply>([&](auto done) {
      uploads_.cancel(
          upload, call(tenant),
          [](const MultipartUpload& ended) { return schemas::multipart_upload_json(ended); }, done);
    });
  }
  int drop() {
    return await<int>([&](auto done) { uploads_.drop_expired(9, done); }).value();
  }
  std::string content(const CallReply& reply) {
    return files_.read_content(kTenant, schemas::stored_file_id_from(reply.body).value()).value();
  }
  std::int64_t number(Sql sql) {
    return read(s_.store().readers(),
                [&](Db& db) {
                  auto row = db.prepare(sql);
                  return row.step() ? row.integer(0) : -1;
                })
        .value();
  }
  std::int64_t stored_bytes() { return number("SELECT coalesce(sum(stored_bytes), 0) FROM quota_usage"); }
  std::int64_t references() { return number("SELECT coalesce(sum(refs), 0) FROM blobs"); }
  std::int64_t parts() { return number("SELECT count(*) FROM upload_parts"); }

  JobStore& s_ = fresh();
  MultipartUploads uploads_{s_.store()};
  Files files_{s_.store()};
};
INSTANTIATE_TEST_SUITE_P(Stores, PartUploads, ::testing::ValuesIn(kStores),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(PartUploads, PartsBecomeAFileInTheOrderOfTheirIds) {
  const base::Uuid upload = begin(5);
  const base::Uuid b = part(upload, "llo"), a = part(upload, "he");
  EXPECT_EQ(stored_bytes(), 5);
  const auto done = complete(upload, {a, b});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(content(*done), "hello");
  EXPECT_EQ(stored_bytes(), 5);
  EXPECT_EQ(references(), 1);
  EXPECT_EQ(parts(), 0);
  const auto file = files_.file(kTenant, schemas::stored_file_id_from(done->body).value()).value();
  EXPECT_EQ(file.name, "a.txt");
  EXPECT_EQ(file.purpose, "batch");
  EXPECT_FALSE(file.expires_at);
}

TEST_P(PartUploads, TheLifeOfTheFileBeginsWhenItIsCompleted) {
  const base::Uuid upload = begin(1, 2h);
  const base::Uuid a = part(upload, "a");
  s_.clock.advance(30min);
  const auto done = complete(upload, {a}).value();
  const auto file = files_.file(kTenant, schemas::stored_file_id_from(done.body).value()).value();
  EXPECT_EQ(file.expires_at, s_.clock.wall() + 2h);
}

TEST_P(PartUploads, PartsThatAreNotNamedAreDeletedWithTheUpload) {
  const base::Uuid upload = begin(4);
  const base::Uuid a = part(upload, "same"), b = part(upload, "same");
  EXPECT_EQ(stored_bytes(), 8);
  EXPECT_EQ(references(), 2);
  ASSERT_TRUE(complete(upload, {b}));
  EXPECT_EQ(stored_bytes(), 4);
  EXPECT_EQ(references(), 1) << "the file has the same content, and so the same blob";
  EXPECT_EQ(complete(upload, {a}).error().code, Code::kInvalidState);
}

TEST_P(PartUploads, AWrongSumAnUnknownPartAndAWrongMd5ChangeNothing) {
  const base::Uuid upload = begin(5), other = begin(5);
  const base::Uuid a = part(upload, "he"), b = part(upload, "llo"), c = part(other, "hello");
  for (const auto& wrong : std::vector<std::vector<base::Uuid>>{{a}, {c}, {new_uuid()}})
    EXPECT_EQ(complete(upload, wrong).error().param, "part_ids");
  const auto swapped = join(upload, {b, a}, kHelloMd5);
  EXPECT_EQ(swapped.error().code, Code::kBadRequest);
  EXPECT_EQ(swapped.error().param, "md5");
  EXPECT_TRUE(join(upload, {a, b}, kHelloMd5));
  EXPECT_TRUE(complete(upload, {a, b}));
}

TEST_P(PartUploads, OfTwoCompletionsOneMakesTheFile) {
  const base::Uuid upload = begin(5);
  const base::Uuid a = part(upload, "hello");
  auto first = join(upload, {a}).value(), second = join(upload, {a}).value(),
       third = join(upload, {a}).value();
  const auto made = finish(upload, std::move(first), call(kTenant, "key"));
  ASSERT_TRUE(made);
  const auto refused = finish(upload, std::move(second), call());
  EXPECT_EQ(refused.error().code, Code::kInvalidState);
  EXPECT_NE(refused.error().message.find(made->body), std::string::npos) << refused.error().message;
  const auto repeated = finish(upload, std::move(third), call(kTenant, "key"));
  ASSERT_TRUE(repeated);
  EXPECT_TRUE(repeated->replayed);
  EXPECT_EQ(repeated->body, made->body);
  EXPECT_EQ(number("SELECT count(*) FROM files"), 1);
  EXPECT_EQ(stored_bytes(), 5);
}

TEST_P(PartUploads, ARepeatGetsTheFirstReplyOrTheError) {
  const base::Uuid upload = begin(5);
  const base::Uuid a = part(upload, "hello");
  const auto made = finish(upload, join(upload, {a}).value(), call(kTenant, "key")).value();
  const base::Error error = base::error(Code::kInvalidState, "ended");
  const auto repeat = [&](const std::string& key) {
    return await<CallReply>([&](auto done) { uploads_.repeat(call(kTenant, key), error, done); });
  };
  EXPECT_EQ(repeat("key").value().body, made.body);
  EXPECT_EQ(repeat("another").error().message, "ended");
  EXPECT_EQ(repeat("").error().message, "ended");
}

TEST_P(PartUploads, APartOfAnEndedUploadIsRefused) {
  const base::Uuid cancelled = begin(5), completed = begin(5);
  part(cancelled, "hello");
  const base::Uuid a = part(completed, "hello");
  EXPECT_TRUE(cancel(cancelled));
  EXPECT_TRUE(complete(completed, {a}));
  for (const base::Uuid& upload : {cancelled, completed})
    EXPECT_EQ(try_part(upload, new_uuid(), "late", call()).error().code, Code::kInvalidState);
  EXPECT_EQ(try_part(new_uuid(), new_uuid(), "none", call()).error().code, Code::kNotFound);
  EXPECT_EQ(cancel(completed).error().code, Code::kInvalidState);
  EXPECT_EQ(references(), 1);
  EXPECT_EQ(stored_bytes(), 5);
}

TEST_P(PartUploads, AnotherTenantFindsNothing) {
  const base::Uuid upload = begin(5);
  const base::Uuid a = part(upload, "hello");
  EXPECT_EQ(try_part(upload, new_uuid(), "x", call("other")).error().code, Code::kNotFound);
  EXPECT_EQ(uploads_.parts("other", upload, {a}).error().code, Code::kNotFound);
  EXPECT_EQ(cancel(upload, "other").error().code, Code::kNotFound);
  EXPECT_TRUE(complete(upload, {a}));
}

TEST_P(PartUploads, ARepeatedPartIsKeptOnce) {
  const base::Uuid upload = begin(5);
  const auto first = try_part(upload, new_uuid(), "hello", call(kTenant, "part")).value();
  const auto again = try_part(upload, new_uuid(), "hello", call(kTenant, "part")).value();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(parts(), 1);
  EXPECT_EQ(references(), 1);
}

TEST_P(PartUploads, PartsHaveBounds) {
  const base::Uuid upload = begin(5);
  part(upload, "hello");
  part(upload, "hello");
  const auto more = try_part(upload, new_uuid(), "x", call());
  EXPECT_EQ(more.error().code, Code::kBadRequest);
  EXPECT_NE(more.error().message.find("5 bytes"), std::string::npos) << more.error().message;
  const base::Uuid many = begin(schemas::kUploadPartsMax);
  for (std::int64_t i = 0; i < schemas::kUploadPartsMax; ++i) part(many, "x");
  EXPECT_EQ(try_part(many, new_uuid(), "x", call()).error().code, Code::kBadRequest);
  EXPECT_EQ(references(), schemas::kUploadPartsMax + 2);
  EXPECT_TRUE(cancel(many));
  EXPECT_EQ(references(), 2);
}

TEST_P(PartUploads, PendingUploadsOfATenantAreBounded) {
  std::vector<base::Uuid> ids;
  for (std::int64_t i = 0; i < schemas::kPendingUploadsMax; ++i) ids.push_back(begin(1));
  EXPECT_EQ(try_begin(new_uuid(), 1).error().code, Code::kQuotaFull);
  EXPECT_TRUE(cancel(ids.front()));
  EXPECT_TRUE(try_begin(new_uuid(), 1));
  EXPECT_EQ(try_begin(new_uuid(), 1).error().code, Code::kQuotaFull);
  s_.clock.advance(61min);
  EXPECT_TRUE(try_begin(new_uuid(), 1)) << "the others have expired";
}

TEST_P(PartUploads, AnExpiredOneLosesItsPartsAndIsForgottenLater) {
  const base::Uuid upload = begin(5);
  const base::Uuid a = part(upload, "hello");
  auto joined = join(upload, {a}).value();
  EXPECT_EQ(drop(), 0);
  s_.clock.advance(61min);
  EXPECT_EQ(complete(upload, {a}).error().code, Code::kInvalidState);
  EXPECT_EQ(finish(upload, std::move(joined), call()).error().code, Code::kInvalidState);
  EXPECT_EQ(try_part(upload, new_uuid(), "x", call()).error().code, Code::kInvalidState);
  EXPECT_EQ(drop(), 1);
  EXPECT_EQ(stored_bytes(), 0);
  EXPECT_EQ(references(), 0);
  EXPECT_EQ(parts(), 0);
  EXPECT_EQ(number("SELECT count(*) FROM uploads"), 1);
  EXPECT_EQ(cancel(upload).error().code, Code::kInvalidState);
  s_.clock.advance(MultipartUploads::kEndedKept);
  EXPECT_EQ(drop(), 1);
  EXPECT_EQ(number("SELECT count(*) FROM uploads"), 0);
  EXPECT_EQ(cancel(upload).error().code, Code::kNotFound);
}

TEST_P(PartUploads, LargePartsAreJoinedInSteps) {
  const std::string a(18u << 20, 'a'), b((3u << 20) + 7, 'b');
  const auto bytes = static_cast<std::int64_t>(a.size() + b.size());
  const base::Uuid upload = begin(bytes);
  const base::Uuid first = part(upload, a), second = part(upload, b);
  const auto refs = uploads_.parts(kTenant, upload, {first, second}).value();
  PartJoin joined(s_.store().blobs(), refs, {});
  int steps = 1;
  while (!joined.step().value()) ++steps;
  EXPECT_EQ(steps, 2);
  const auto done = finish(upload, joined.finish().value(), call()).value();
  EXPECT_EQ(content(done), a + b);
}

TEST_P(PartUploads, ADamagedPartIsNotJoined) {
  const base::Uuid upload = begin(5);
  const base::Uuid a = part(upload, "hello");
  auto refs = uploads_.parts(kTenant, upload, {a}).value();
  refs.front().sha256_hex.assign(64, '0');
  PartJoin joined(s_.store().blobs(), refs, {});
  EXPECT_EQ(joined.step().error().code, Code::kStoredDamaged);
}

}  // namespace
}  // namespace millrace::storage::testing
