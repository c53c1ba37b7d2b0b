#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "platform/base/crypto.h"
#include "storage/s3/s3_blobs.h"
#include "tests/support/s3_server.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

// What blobs in S3 promise beyond the contract of Blobs: on a real server that fails.
namespace millrace::s3 {
namespace {

namespace fs = std::filesystem;
using storage::BlobRef;
using storage::Blobs;
using storage::OpenFile;
using storage::Staged;

constexpr std::chrono::milliseconds kSoon{20};

constexpr Bounds kShort{.attempts_max = 2, .retry_wait = kSoon};

// Blobs on the shared server, with a prefix of their own.
class S3Contract : public testing::Test {
 protected:
  explicit S3Contract(std::string url = support::shared_s3()) : url_(std::move(url)) {}

  Options options(Bounds bounds = kShort) const {
    const std::string prefix = base::hex(base::sha256(dir_.str())).substr(0, 16);
    return {
        .location = parse_location("s3://" + std::string(support::kS3Bucket) + "/" + prefix, url_).value(),
        .credentials = {"us-east-1", base::Secret(support::kS3AccessKey),
                        base::Secret(support::kS3SecretKey)},
        .orphan_age_min = std::chrono::milliseconds(0),
        .bounds = bounds};
  }
  base::Result<std::unique_ptr<Blobs>> open(const Options& with) const {
    return open_s3_blobs(dir_.str() + "/blobs", 0, with);
  }
  void open_blobs(Bounds bounds = kShort) { blobs_ = open(options(bounds)).value(); }
  static BlobRef referenced(Blobs& blobs, const std::string& content) {
    const Staged staged = stage(blobs, content).value();
    staged->set_referenced(true);
    return staged->ref();
  }
  // As a new host finds them.
  void reopen_without_cache() {
    blobs_.reset();
    fs::remove_all(dir_.path() / "blobs");
    open_blobs();
  }
  // Writes an object past the Blobs.
  void put(const std::string& key, const std::string& content) const {
    const OpenFile file(::open(dir_.write("object", content).c_str(), O_RDONLY | O_CLOEXEC));
    const auto stored =
        Client(options().location, options().credentials, {})
            .put(key, file.fd(), static_cast<std::int64_t>(content.size()), base::hex(base::sha256(content)));
    EXPECT_TRUE(stored);
  }
  std::set<std::string> objects() const {
    std::set<std::string> keys;
    const Listing listing = Client(options().location, options().credentials, {}).list({}, 1'000).value();
    for (const ListedObject& object : listing.objects) keys.insert(object.key);
    return keys;
  }
  int collect(std::int64_t now_ms = std::int64_t{1} << 50) {
    const auto never = [](void*, const std::string&) { return false; };
    return blobs_->collect_orphans(now_ms, 0, 1'000, never, nullptr);
  }

  support::TempDir dir_;
  std::string url_;
  std::unique_ptr<Blobs> blobs_;
};

// Its own server, which fails.
class S3Outage : public S3Contract {
 protected:
  S3Outage() : S3Contract({}) { url_ = server_.start(); }
  ~S3Outage() override {
    blobs_.reset();
    server_.kill();
  }
  // Whether a client has sent bytes that the server has not read.
  bool is_uploading() const {
    std::ostringstream port;
    port << ':' << std::hex << std::uppercase << std::stoi(url_.substr(url_.rfind(':') + 1)) << ' ';
    std::ifstream table("/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
      // "… local remote state tx_queue:rx_queue …": sent by a client, and not acknowledged
      const std::size_t remote = line.find(port.str());
      const std::size_t queue = line.find(" 01 ");
      if (remote != std::string::npos && queue == remote + port.str().size() - 1 &&
          line.compare(queue + 4, 8, "00000000") != 0)
        return true;
    }
    return false;
  }

  support::S3Server server_{dir_.path() / "s3"};
};

const std::string& large_content() {
  static const std::string content = [] {
    std::string all(40u << 20, '\0');
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i * 2'654'435'761u >> 24);
    return all;
  }();
  return content;
}

TEST_F(S3Outage, AServerThatDiesDuringAnUploadLeavesNothingAndARetryAfterwardsWorks) {
  open_blobs();
  server_.pause();
  auto upload = std::async(std::launch::async, [&] { return stage(*blobs_, large_content()); });
  EXPECT_TRUE(support::wait_until([&] { return is_uploading(); }));
  server_.kill();
  const auto failed = upload.get();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, base::Code::kOverloaded);
  EXPECT_NE(failed.error().message.find("blobs.endpoint"), std::string::npos);
  EXPECT_GT(failed.error().retry_after.count(), 0);
  server_.start();
  EXPECT_EQ(objects().size(), 0u);
  const BlobRef ref = referenced(*blobs_, large_content());
  reopen_without_cache();
  EXPECT_TRUE(blobs_->read(ref).value() == large_content());
  EXPECT_EQ(objects(), std::set<std::string>{ref.path});
}

TEST_F(S3Outage, AnUploadGoesOnWithAServerThatComesBackInTime) {
  open_blobs({.attempts_max = 12, .retry_wait = std::chrono::milliseconds(50)});
  server_.pause();
  auto upload = std::async(std::launch::async, [&] { return stage(*blobs_, large_content()); });
  EXPECT_TRUE(support::wait_until([&] { return is_uploading(); }));
  server_.kill();
  server_.start();
  const auto staged = upload.get();
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_EQ(objects(), std::set<std::string>{(*staged)->ref().path});
}

TEST_F(S3Outage, AWriterSendsItsContentAgain) {
  open_blobs();
  auto writer = blobs_->begin(0).value();
  EXPECT_TRUE(writer->append("content"));
  server_.kill();
  EXPECT_EQ(writer->finish().error().code, base::Code::kOverloaded);
  EXPECT_TRUE(writer->may_finish_again());
  server_.start();
  const auto staged = writer->finish();
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_FALSE(writer->may_finish_again());
  (*staged)->set_referenced(true);
  writer.reset();
  EXPECT_EQ(objects(), std::set<std::string>{(*staged)->ref().path});
  EXPECT_EQ(blobs_->read((*staged)->ref()).value(), "content");
}

TEST_F(S3Outage, AServerThatDoesNotAnswerIsGivenUpAfterTheTimeout) {
  open_blobs({.attempts_max = 2, .retry_wait = kSoon, .reply_timeout = std::chrono::milliseconds(200)});
  server_.pause();
  const auto failed = stage(*blobs_, "content");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, base::Code::kOverloaded);
}

TEST_F(S3Outage, ItEndsWhileTheServerDoesNotAnswer) {
  open_blobs({.attempts_max = 100});
  const BlobRef ref = referenced(*blobs_, "content");
  server_.pause();
  blobs_->unlink(ref.path);
  const auto begin = std::chrono::steady_clock::now();
  blobs_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(S3Contract, ALostCacheIsFilledFromTheServer) {
  open_blobs();
  const BlobRef ref = referenced(*blobs_, "content");
  reopen_without_cache();
  EXPECT_EQ(blobs_->read(ref).value(), "content");
}

TEST_F(S3Outage, WhatIsInTheCacheIsReadWithoutTheServer) {
  open_blobs();
  const BlobRef ref = referenced(*blobs_, "content");
  server_.kill();
  EXPECT_EQ(blobs_->read(ref).value(), "content");
}

TEST_F(S3Contract, AnObjectThatWasChangedOnTheServerIsDamaged) {
  open_blobs();
  const BlobRef same_size = referenced(*blobs_, "content"), shorter = referenced(*blobs_, "other content");
  put(same_size.path, "CONTENT");
  put(shorter.path, "short");
  reopen_without_cache();
  EXPECT_EQ(blobs_->read(same_size).error().code, base::Code::kStoredDamaged);
  EXPECT_EQ(blobs_->open(shorter).error().code, base::Code::kStoredDamaged);
}

TEST_F(S3Contract, AnObjectThatWasDeletedOnTheServerIsDamaged) {
  open_blobs();
  const BlobRef ref = referenced(*blobs_, "content");
  EXPECT_TRUE(Client(options().location, options().credentials, {}).remove(ref.path));
  EXPECT_EQ(blobs_->read(ref).value(), "content") << "the copy of this host is whole";
  reopen_without_cache();
  EXPECT_EQ(blobs_->open(ref).error().code, base::Code::kStoredDamaged);
  EXPECT_EQ(blobs_->read(ref).error().code, base::Code::kStoredDamaged);
}

TEST_F(S3Contract, TheCollectionLeavesWhatIsNotOurs) {
  open_blobs();
  const BlobRef orphan = referenced(*blobs_, "content");
  put(orphan.path.substr(0, 3) + "invoice.pdf", "not a blob");
  EXPECT_EQ(collect(), 1);
  EXPECT_EQ(objects(), std::set<std::string>{orphan.path.substr(0, 3) + "invoice.pdf"});
}

TEST_F(S3Contract, ObjectsYoungerThanADayAreNoOrphansWhateverTheSetting) {
  Options with = options();
  with.orphan_age_min = Options{}.orphan_age_min;
  blobs_ = open(with).value();
  referenced(*blobs_, "content");
  const std::int64_t now_ms = base::millis(base::SystemClock().wall());
  constexpr std::int64_t kHourMs = 3'600'000;
  EXPECT_EQ(collect(now_ms + 23 * kHourMs), 0);
  EXPECT_EQ(collect(now_ms + 25 * kHourMs), 1);
}

TEST_F(S3Contract, TheObjectsOfAnotherStoreAreRefused) {
  open_blobs();
  EXPECT_TRUE(blobs_->claim("one.sqlite"));
  EXPECT_TRUE(blobs_->claim("one.sqlite"));
  EXPECT_EQ(blobs_->claim("two.sqlite").error().code, base::Code::kInvalidState);
  const auto refused = blobs_->claim("one.server-2");
  ASSERT_FALSE(refused) << "a copy of the store";
  EXPECT_NE(refused.error().message.find("take-bucket"), std::string::npos);
  const Options with = options();
  EXPECT_TRUE(take_bucket(with.location, with.credentials, "one.server-2"));
  EXPECT_TRUE(blobs_->claim("one.server-2"));
  EXPECT_FALSE(blobs_->claim("one.sqlite"));
}

TEST_F(S3Outage, NothingIsRemovedBeforeTheOwnerIsKnown) {
  open_blobs();
  const BlobRef orphan = referenced(*blobs_, "of another store");
  EXPECT_TRUE(blobs_->claim("one.server-1"));
  server_.kill();
  const auto other = open(options()).value();
  EXPECT_TRUE(other->claim("two.server-1")) << "the server is down";
  server_.start();
  const auto never = [](void*, const std::string&) { return false; };
  other->unlink(orphan.path);
  EXPECT_EQ(other->collect_orphans(std::int64_t{1} << 50, 0, 1'000, never, nullptr), 0);
  EXPECT_EQ(objects(), (std::set<std::string>{orphan.path, ".owner/one.server-1"}));
}

TEST_F(S3Contract, AStagedBlobExpiresLongBeforeItMayBeCollected) {
  open_blobs();
  EXPECT_FALSE(stage(*blobs_, "content").value()->is_expired());
  Options with = options();
  with.staged_age_max = std::chrono::milliseconds(0);
  blobs_ = open(with).value();
  EXPECT_TRUE(stage(*blobs_, "content").value()->is_expired());
  EXPECT_LE(Options{}.staged_age_max * 2, Options{}.orphan_age_min);
}

TEST_F(S3Contract, AnObjectIsRemovedInTheBackground) {
  open_blobs();
  const BlobRef ref = referenced(*blobs_, "content");
  blobs_->unlink(ref.path);
  EXPECT_FALSE(blobs_->open(ref));
  EXPECT_TRUE(support::wait_until([&] { return objects().empty(); }));
  EXPECT_EQ(blobs_->open(ref).error().code, base::Code::kStoredDamaged);
}

TEST_F(S3Contract, AWrongKeyOrBucketIsRefusedAtTheStartByTheNameOfItsSetting) {
  Options wrong = options();
  wrong.credentials.secret_key = base::Secret("wrong");
  EXPECT_NE(open(wrong).error().message.find("blobs.secret_key"), std::string::npos);
  wrong = options();
  wrong.credentials.access_key = base::Secret("nobody");
  EXPECT_NE(open(wrong).error().message.find("blobs.access_key"), std::string::npos);
  wrong = options();
  wrong.location.bucket = "missing";
  EXPECT_NE(open(wrong).error().message.find("blobs.url"), std::string::npos);
}

TEST_F(S3Outage, AServerThatIsDownAtTheStartMayComeLater) {
  server_.kill();
  open_blobs();
  EXPECT_FALSE(stage(*blobs_, "content"));
  server_.start();
  EXPECT_TRUE(stage(*blobs_, "content"));
}

TEST_F(S3Contract, AnObjectAboveTheLargestIsRefusedBeforeAByte) {
  open_blobs();
  const auto refused = blobs_->begin_reserved(kObjectBytesMax + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::kTooLarge);
  EXPECT_NE(refused.error().message.find("5 GiB"), std::string::npos);
}

}  // namespace
}  // namespace millrace::s3
