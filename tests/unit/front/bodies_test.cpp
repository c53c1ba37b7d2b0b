#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

constexpr std::size_t kBodyBytes = 50 * kMegabyte;

// The process's peak resident memory since `forget_peak`, in KB.
long peak_kilobytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
  }
  return 0;
}

void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

class Bodies : public Served {
 protected:
  void serve_sizes() {
    application.on_admit = [](const Head&) { return Admit{64 * kMegabyte, nullptr}; };
    application.on_run = [this](Request request, const Responder& responder) {
      capacity = request.body.capacity();
      intact = request.body.find_first_not_of('x') == std::string::npos;
      responder.send(text_reply(std::to_string(request.body.size())));
    };
    start();
  }

  std::size_t capacity = 0;
  bool intact = false;
};

TEST_F(Bodies, Of50MegabytesComeWholeAndAreHeldOnce) {
  serve_sizes();
  const std::string piece(kMegabyte, 'x');
  RawClient one = client();
  forget_peak();
  const long before = peak_kilobytes();
  ASSERT_TRUE(
      one.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(kBodyBytes) + "\r\n\r\n"));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(one.send(piece));
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, std::to_string(kBodyBytes));
  EXPECT_TRUE(intact);
  EXPECT_GE(capacity, kBodyBytes + kBodyPadding);
  if (!MILLRACE_UNDER_SANITIZER) {
    EXPECT_LT(peak_kilobytes() - before, static_cast<long>(kBodyBytes / 1024 * 12 / 10));
  }
}

TEST_F(Bodies, ThatAreChunkedComeWholeInEveryCut) {
  serve_sizes();
  RawClient one = client();
  std::string text = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::size_t total = 0;
  for (std::size_t size = 1; size < 3000; size += 7) {
    std::array<char, 16> line{};
    text.append(line.data(),
                static_cast<std::size_t>(std::snprintf(line.data(), line.size(), "%zx\r\n", size)));
    text.append(size, 'x').append("\r\n");
    total += size;
  }
  text += "0\r\n\r\n";
  ASSERT_TRUE(one.send(text));
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, std::to_string(total));
  EXPECT_TRUE(intact);
  EXPECT_GE(capacity, total + kBodyPadding);
}

TEST_F(Bodies, ThatAreChunkedAndTooLargeAreRefusedWhileTheyCome) {
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  for (int i = 0; i < 17; ++i) one.send(chunk);
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 413);
  EXPECT_NE(reply->body.find("larger than 1MiB"), std::string::npos) << reply->body;
  EXPECT_TRUE(one.ends());
}

TEST_F(Bodies, OfZeroBytesAreRequestsLikeOthers) {
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(post("/a", "") +
                       "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"));
  EXPECT_EQ(one.reply()->body, "POST /a ");
  EXPECT_EQ(one.reply()->body, "POST /b ");
}

}  // namespace
}  // namespace millrace::front::test
