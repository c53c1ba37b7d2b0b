// A meter decides about a body while it arrives.
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

constexpr std::uint64_t kAllowed = 100;

class FakeMeter : public BodyMeter {
 public:
  bool grow(std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    seen_.push_back(bytes);
    return bytes <= kAllowed;
  }
  std::vector<std::uint64_t> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> seen_;
};

class MeteredBody : public Served {
 protected:
  void SetUp() override {
    application.on_admit = [this](const Head&) {
      return Admit{.body_max = kMegabyte, .request_state = meter, .meter = meter.get()};
    };
    start();
  }
  const std::shared_ptr<FakeMeter> meter = std::make_shared<FakeMeter>();
};

TEST_F(MeteredBody, IsCalledWithTheBytesAsTheyArrive) {
  RawClient one = client();
  ASSERT_TRUE(one.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n" + std::string(60, 'x')));
  EXPECT_FALSE(one.reply(false, std::chrono::milliseconds(50)));
  ASSERT_TRUE(one.send(std::string(40, 'x')));
  EXPECT_EQ(one.reply()->status, 200);
  EXPECT_EQ(meter->seen(), (std::vector<std::uint64_t>{60, 100}));
}

TEST_F(MeteredBody, IsNotReadFurtherThanAllowedAndTheRequestRunsAtOnce) {
  const std::string length = "Content-Length: 1000\r\n\r\n",
                    chunk = "Transfer-Encoding: chunked\r\n\r\n3e8\r\n";
  for (const std::string& framing : {length, chunk}) {
    RawClient one = client();
    ASSERT_TRUE(one.send("POST / HTTP/1.1\r\nHost: a\r\n" + framing + std::string(60, 'x')));
    EXPECT_FALSE(one.reply(false, std::chrono::milliseconds(50)));
    ASSERT_TRUE(one.send(std::string(60, 'x') + get("/second")));
    const auto reply = one.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->headers.at("connection"), "close");
    EXPECT_EQ(one.until_end(), "");
  }
  EXPECT_EQ(application.ran(), 2u);
}

TEST_F(MeteredBody, ABodylessRequestIsNotMetered) {
  EXPECT_EQ(send_request(get("/"))->status, 200);
  EXPECT_TRUE(meter->seen().empty());
}

}  // namespace
}  // namespace millrace::front::test
