#include "storage/blobs/image_files.h"

#include <unistd.h>

#include "storage/db/db.h"
#include "storage/writer/readers.h"
#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

using std::chrono::hours;

// A staged blob that is too old.
class ExpiredBlob final : public StagedBlob {
 public:
  explicit ExpiredBlob(Staged inner) : inner_(std::move(inner)) {}
  const BlobRef& ref() const override { return inner_->ref(); }
  void set_referenced(bool is_referenced) override { inner_->set_referenced(is_referenced); }
  base::Result<OpenFile> open() const override { return inner_->open(); }
  bool is_expired() const override { return true; }

 private:
  const Staged inner_;
};

class KeptImages : public ::testing::Test {
 protected:
  base::Uuid keep(const std::string& content, std::chrono::milliseconds life = hours(1)) {
    auto writer = s_.store().blobs().begin(static_cast<std::int64_t>(content.size())).value();
    EXPECT_TRUE(writer->append(content).has_value());
    const base::Uuid id = base::Uuid::make(s_.clock.wall());
    std::vector<ImageFile> files{{id, writer->finish().value()}};
    const auto kept =
        await<bool>([&](auto done) { images_.add(kTenant, std::move(files), s_.clock.wall() + life, done); });
    EXPECT_TRUE(kept.has_value());
    return id;
  }
  std::string content(const base::Uuid& id) {
    const auto image = images_.open(id);
    if (!image) return std::string(base::name(image.error().code));
    std::string out(static_cast<std::size_t>(image->bytes), '\0');
    const ssize_t got = ::pread(image->file.fd(), out.data(), out.size(), 0);
    EXPECT_EQ(got, image->bytes);
    return out;
  }
  int dropped() {
    return await<int>([&](auto done) { images_.drop_expired(99, done); }).value();
  }
  std::int64_t unreferenced() {
    return read(s_.store().readers(),
                [](Db& db) {
                  auto s = db.prepare("SELECT count(*) FROM blobs WHERE refs = 0");
                  return s.step() ? s.integer(0) : -1;
                })
        .value();
  }

  JobStore s_;
  ImageFiles images_{s_.store()};
};

TEST_F(KeptImages, AnImageIsThereUntilItsTimeIsOver) {
  const base::Uuid id = keep("pixels");
  EXPECT_EQ(content(id), "pixels");
  s_.clock.advance(hours(1));
  EXPECT_EQ(content(id), "not_found");
  EXPECT_EQ(content(base::Uuid::make(s_.clock.wall())), "not_found");
}

TEST_F(KeptImages, NoRowReferencesAFileThatHasExpired) {
  auto expired = std::make_shared<ExpiredBlob>(stage(s_.store().blobs(), "pixels").value());
  const base::Uuid id = base::Uuid::make(s_.clock.wall());
  const auto kept = await<bool>([&](auto done) {
    images_.add(kTenant, {{id, expired}}, s_.clock.wall() + hours(1), done);
  });
  EXPECT_FALSE(kept.has_value());
  EXPECT_EQ(content(id), "not_found");
  keep("other pixels");
}

TEST_F(KeptImages, TheSameImageTwiceIsKeptAsLongAsEitherIs) {
  const base::Uuid first = keep("pixels"), second = keep("pixels", hours(3));
  s_.clock.advance(hours(2));
  EXPECT_EQ(dropped(), 1);
  EXPECT_EQ(content(first), "not_found");
  EXPECT_EQ(content(second), "pixels");
  EXPECT_EQ(unreferenced(), 0);
  s_.clock.advance(hours(2));
  EXPECT_EQ(dropped(), 1);
  EXPECT_EQ(unreferenced(), 1);
}

}  // namespace
}  // namespace millrace::storage::testing
