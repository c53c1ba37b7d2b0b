#include <algorithm>
#include <filesystem>
#include <mutex>

#include <gtest/gtest.h>

#include "app/components/document_download.h"
#include "tests/support/answer.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/net/web_server.h"

namespace millrace::app::document_fetch_test {
namespace {

using net::testing::ok;
using net::testing::Replies;
using net::testing::WebServer;
using std::chrono::milliseconds;

// Blobs on the disk that record calls. `before_append` runs before each append, on the pool.
class WatchedBlobs final : public storage::Blobs {
 public:
  explicit WatchedBlobs(const std::string& folder) : disk_(*storage::open_file_blobs(folder, 0)) {}

  std::function<base::Status()> before_append = [] { return base::Status{}; };

  std::vector<std::size_t> pieces() const {
    const std::lock_guard lock(mutex_);
    return pieces_;
  }
  std::int64_t expected() const {
    const std::lock_guard lock(mutex_);
    return expected_;
  }

  base::Result<std::unique_ptr<storage::BlobWriter>> begin_reserved(std::int64_t expected_bytes) override {
    return disk_->begin_reserved(expected_bytes);
  }
  base::Result<std::unique_ptr<storage::BlobWriter>> begin(std::int64_t expected_bytes) override {
    const std::lock_guard lock(mutex_);
    expected_ = expected_bytes;
    auto writer = disk_->begin(expected_bytes);
    if (!writer) return writer.error();
    return std::unique_ptr<storage::BlobWriter>(std::make_unique<Writer>(*this, *std::move(writer)));
  }
  base::Result<storage::OpenFile> open(const storage::BlobRef& ref) const override {
    return disk_->open(ref);
  }
  base::Result<std::string> read(const storage::BlobRef& ref) const override { return disk_->read(ref); }
  void unlink(const std::string& path) override { disk_->unlink(path); }
  int collect_orphans(std::int64_t now_ms, std::int64_t age_ms, int limit, IsReferenced is_referenced,
                      void* context) override {
    return disk_->collect_orphans(now_ms, age_ms, limit, is_referenced, context);
  }

 private:
  class Writer final : public storage::BlobWriter {
   public:
    Writer(WatchedBlobs& blobs, std::unique_ptr<storage::BlobWriter> file)
        : blobs_(blobs), file_(std::move(file)) {}
    base::Status append(std::string_view bytes) override {
      if (auto status = blobs_.before_append(); !status) return status;
      {
        const std::lock_guard lock(blobs_.mutex_);
        blobs_.pieces_.push_back(bytes.size());
      }
      return file_->append(bytes);
    }
    std::int64_t bytes() const override { return file_->bytes(); }
    base::Result<storage::Staged> finish() override { return file_->finish(); }

   private:
    WatchedBlobs& blobs_;
    std::unique_ptr<storage::BlobWriter> file_;
  };

  std::unique_ptr<storage::Blobs> disk_;
  mutable std::mutex mutex_;
  std::vector<std::size_t> pieces_;
  std::int64_t expected_ = -1;
};

class DocumentFetchTest : public testing::Test {
 protected:
  void serve(Replies replies) {
    server_.emplace(std::move(replies));
    guard_.emplace(std::vector<std::string>{server_->host()});
    fetch_.emplace(loop_, client_, *guard_, net::FetchLimits{});
    documents_.emplace(*fetch_, loop_, pool_, blobs_);
  }
  base::Result<storage::Staged> get(const std::string& path) {
    support::Answer<storage::Staged> answer;
    documents_->start(server_->url(path), answer.take());
    return answer.wait();
  }
  // The number of files that are neither finished nor removed.
  std::ptrdiff_t unfinished() const {
    const auto folder = std::filesystem::directory_iterator(dir_.path() / "incoming");
    return std::distance(begin(folder), end(folder));
  }

  support::TempDir dir_;
  WatchedBlobs blobs_{dir_.str()};
  base::Pool pool_{{}};
  net::Loop loop_{"test"};
  net::HttpClient client_{loop_};
  std::optional<WebServer> server_;
  std::optional<net::FetchGuard> guard_;
  std::optional<net::Fetch> fetch_;
  std::optional<DocumentFetch> documents_;
};

TEST_F(DocumentFetchTest, ADocumentIsWrittenWhileItArrivesAndASlowDiskSlowsTheOtherSide) {
  std::string body(std::size_t{32} << 20, 'x');
  for (std::size_t i = 0; i < body.size(); i += 4096) body[i] = static_cast<char>(i >> 12);
  serve({{"/big.pdf", ok(body)}});
  bool sent_all = true;
  blobs_.before_append = [&, first = true]() mutable {
    if (std::exchange(first, false)) {
      sent_all = support::wait_until([&] { return server_->sent_bytes() > body.size(); }, milliseconds(200));
    }
    return base::Status{};
  };
  const auto staged = get("/big.pdf");
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_FALSE(sent_all) << "the whole document was buffered in memory";
  EXPECT_EQ(blobs_.expected(), static_cast<std::int64_t>(body.size()));
  const auto pieces = blobs_.pieces();
  EXPECT_LE(*std::max_element(pieces.begin(), pieces.end()), DocumentFetch::kPieceMax + 65'536);
  EXPECT_EQ(*blobs_.read((*staged)->ref()), body);
}

TEST_F(DocumentFetchTest, ADiskThatFailsEndsTheFetchAndLeavesNothingBehind) {
  serve({{"/a.pdf", ok(std::string(std::size_t{8} << 20, 'x'))}});
  blobs_.before_append = [] {
    return base::Status(base::error(base::Code::kOverloaded, "the disk is full"));
  };
  const auto staged = get("/a.pdf");
  ASSERT_FALSE(staged);
  EXPECT_EQ(staged.error().message, "the disk is full");
  EXPECT_TRUE(support::wait_until([this] { return unfinished() == 0; }));
}

TEST_F(DocumentFetchTest, AReplyThatBreaksOffLeavesNothingBehind) {
  serve({{"/cut.pdf", "HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + std::string(500'000, 'x')}});
  const auto staged = get("/cut.pdf");
  ASSERT_FALSE(staged);
  EXPECT_EQ(staged.error().code, base::Code::kFetchFailed);
  EXPECT_TRUE(support::wait_until([this] { return unfinished() == 0; }));
}

TEST_F(DocumentFetchTest, AnEmptyReplyIsAnEmptyDocument) {
  serve({{"/empty", ok("")}});
  const auto staged = get("/empty");
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_EQ((*staged)->ref().bytes, 0);
}

TEST_F(DocumentFetchTest, ACancelledFetchLeavesNothingBehind) {
  serve({{"/big.pdf", ok(std::string(std::size_t{32} << 20, 'x'))}});
  std::atomic<bool> writing = false, cancelled = false, called = false;
  blobs_.before_append = [&] {
    writing = true;
    support::wait_until([&] { return cancelled.load(); });
    return base::Status{};
  };
  const auto cancel = documents_->start(server_->url("/big.pdf"), [&](auto) { called = true; });
  ASSERT_TRUE(support::wait_until([&] { return writing.load(); }));
  cancel();
  loop_.post([&] { cancelled = true; });
  EXPECT_TRUE(support::wait_until([this] { return unfinished() == 0; }));
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace millrace::app::document_fetch_test
