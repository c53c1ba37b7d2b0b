#include <vector>

#include <unistd.h>

#include "storage/blobs/blob_rows.h"
#include "storage/db/db.h"
#include "storage/files/files.h"
#include "storage/writer/readers.h"
#include "tests/contract/store_contract.h"

// The files of clients, in every store.
namespace millrace::storage::testing {
namespace {

using schemas::StoredFile;

class StoredFiles : public Delivery {
 protected:
  base::Uuid add(const std::string& content, const std::string& purpose = "user_data",
                 std::optional<std::chrono::milliseconds> life = {}) {
    NewFile file{.about = {.id = base::Uuid::make(s_.clock.wall()),
                           .purpose = purpose,
                           .name = "a.txt",
                           .bytes = 0,
                           .sha256_hex = {},
                           .created_at = s_.clock.wall(),
                           .expires_at = {}},
                 .content = stage(s_.store().blobs(), content).value()};
    if (life) file.about.expires_at = s_.clock.wall() + *life;
    const base::Uuid id = file.about.id;
    const auto added = await<CallReply>([&](auto done) {
      files_.add(std::move(file), {.tenant = kTenant, .actor = {}, .key = {}}, &schemas::stored_file_json,
                 done);
    });
    EXPECT_TRUE(added) << added.error().message;
    s_.clock.advance(1ms);
    return id;
  }
  base::Result<CallReply> remove(const base::Uuid& id, const std::string& tenant = kTenant) {
    return await<CallReply>([&](auto done) {
      files_.remove(id, {.tenant = tenant, .actor = {}, .key = {}}, &schemas::stored_file_json, done);
    });
  }
  std::vector<base::Uuid> listed(const FileListQuery& query) {
    std::vector<base::Uuid> ids;
    const auto files = files_.list(kTenant, query).value();
    for (const StoredFile& file : files) ids.push_back(file.id);
    return ids;
  }
  std::string content(const base::Uuid& id) {
    const auto file = files_.open(kTenant, id);
    if (!file) return std::string(base::name(file.error().code));
    std::string out(64, '\0');
    out.resize(static_cast<std::size_t>(::pread(file->fd(), out.data(), out.size(), 0)));
    return out;
  }
  std::int64_t number(Sql sql) {
    return read(s_.store().readers(),
                [&](Db& db) {
                  auto row = db.prepare(sql);
                  return row.step() ? row.integer(0) : -1;
                })
        .value();
  }
  std::int64_t stored_bytes() { return number("SELECT sum(stored_bytes) FROM quota_usage"); }
  std::int64_t references() { return number("SELECT coalesce(sum(refs), 0) FROM blobs"); }

  JobStore& s_ = fresh();
  Files files_{s_.store()};
};
INSTANTIATE_TEST_SUITE_P(Stores, StoredFiles, ::testing::ValuesIn(kStores),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(StoredFiles, TheyAreListedInBothOrdersAndByPurpose) {
  const base::Uuid a = add("a", "batch"), b = add("b"), c = add("c", "batch"), d = add("d");
  EXPECT_EQ(listed({.limit = 9}), (std::vector{d, c, b, a}));
  EXPECT_EQ(listed({.limit = 2, .is_oldest_first = true}), (std::vector{a, b}));
  EXPECT_EQ(listed({.limit = 9, .is_oldest_first = true, .after = b}), (std::vector{c, d}));
  EXPECT_EQ(listed({.limit = 9, .after = c}), (std::vector{b, a}));
  EXPECT_EQ(listed({.limit = 1, .skip = 1}), (std::vector{c}));
  EXPECT_EQ(listed({.limit = 9, .purpose = "batch"}), (std::vector{c, a}));
  EXPECT_EQ(listed({.limit = 9, .is_oldest_first = true, .purpose = "batch"}), (std::vector{a, c}));
  EXPECT_EQ(files_.count(kTenant, {}, 3).value(), 3);
  EXPECT_EQ(files_.count(kTenant, "batch", 9).value(), 2);
  EXPECT_EQ(files_.list("other", {.limit = 9}).value().size(), 0U);
}

TEST_P(StoredFiles, TheirBytesCountUntilTheyAreRemoved) {
  const base::Uuid one = add("same content"), two = add("same content");
  EXPECT_EQ(stored_bytes(), 24);
  EXPECT_EQ(references(), 2);
  EXPECT_EQ(remove(one, "other").error().code, Code::kNotFound);
  EXPECT_TRUE(remove(one));
  EXPECT_EQ(remove(one).error().code, Code::kNotFound);
  EXPECT_EQ(stored_bytes(), 12);
  EXPECT_EQ(content(two), "same content");
  EXPECT_TRUE(remove(two));
  EXPECT_EQ(stored_bytes(), 0);
  EXPECT_TRUE(s_.upkeep().has_unreferenced_blobs().value());
}

TEST_P(StoredFiles, AnExpiredOneIsNotFoundAndThenDropped) {
  const base::Uuid kept = add("kept"), gone = add("gone", "user_data", 1h);
  const auto drop = [&] { return await<int>([&](auto done) { files_.drop_expired(9, done); }).value(); };
  EXPECT_EQ(drop(), 0);
  s_.clock.advance(61min);
  EXPECT_EQ(files_.file(kTenant, gone).error().code, Code::kNotFound);
  EXPECT_EQ(content(gone), "not_found");
  EXPECT_EQ(listed({.limit = 9}), (std::vector{kept}));
  EXPECT_EQ(drop(), 1);
  EXPECT_EQ(stored_bytes(), 4);
  EXPECT_EQ(references(), 1);
}

TEST_P(StoredFiles, AJobSharesTheContentOfItsFile) {
  const base::Uuid file = add("a document");
  Submission order = s_.order();
  order.input_file = file;
  const auto made = s_.try_submit(order);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(references(), 2);
  EXPECT_EQ(stored_bytes(), 20 + std::ssize(order.spec)) << "of the job as of the file";
  EXPECT_TRUE(remove(file));
  EXPECT_EQ(references(), 1);
  const auto claimed = s_.claim(1);
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_TRUE(claimed.front().input);
}

TEST_P(StoredFiles, AJobOfAMissingFileOrOfAnotherTenantsIsRefused) {
  const base::Uuid file = add("a document");
  Submission order = s_.order("other");
  order.input_file = file;
  EXPECT_EQ(s_.try_submit(order).error().code, Code::kNotFound);
  order = s_.order();
  order.input_file = base::Uuid::make(s_.clock.wall());
  EXPECT_EQ(s_.try_submit(order).error().code, Code::kNotFound);
  EXPECT_EQ(number("SELECT count(*) FROM jobs"), 0);
}

TEST_P(StoredFiles, ARepeatedSubmissionFindsItsJobAfterTheFileIsGone) {
  const base::Uuid file = add("a document");
  Submission order = s_.order();
  order.input_file = file;
  order.idempotency = IdempotencyKey{"POST", "/v1/ocr", "key", {}};
  const auto first = s_.try_submit(order).value();
  EXPECT_TRUE(remove(file));
  order.id = s_.new_id();
  const auto again = s_.try_submit(order).value();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.job, first.job);
}

}  // namespace
}  // namespace millrace::storage::testing
