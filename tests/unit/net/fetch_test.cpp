#include "platform/net/fetch.h"

#include <future>
#include <map>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millrace::net {
namespace {

using Replies = std::map<std::string, std::string>;

// Serves fixed replies by path on loopback, one connection at a time; an empty one is never sent. The real
// thing on the other side is curl.
class WebServer {
 public:
  explicit WebServer(Replies replies) : replies_(std::move(replies)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(0, ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address));
    EXPECT_EQ(0, ::listen(listener_, 16));
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](std::stop_token stop) { serve(stop); });
  }
  ~WebServer() {
    thread_.request_stop();
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url(const std::string& path) const { return "http://" + host() + path; }

 private:
  void serve(std::stop_token stop) {
    while (!stop.stop_requested()) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      std::string head;
      char byte = 0;
      while (head.find("\r\n\r\n") == std::string::npos && ::recv(fd, &byte, 1, 0) == 1) head.push_back(byte);
      const std::size_t begin = head.find(' ') + 1;
      const auto found = replies_.find(head.substr(begin, head.find(' ', begin) - begin));
      const std::string reply =
          found == replies_.end() ? "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n" : found->second;
      if (!reply.empty()) {
        ::send(fd, reply.data(), reply.size(), MSG_NOSIGNAL);
        ::shutdown(fd, SHUT_WR);
      }
      pollfd gone{fd, POLLIN, 0};
      ::poll(&gone, 1, 2000);
      ::close(fd);
    }
  }
  Replies replies_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

std::string ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}
std::string redirect(const std::string& where) {
  return "HTTP/1.1 302 Found\r\nLocation: " + where + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

base::Result<std::string> fetch(const FetchGuard& guard, const std::string& url, FetchLimits limits = {}) {
  Loop loop("test");
  HttpClient client(loop);
  Fetch fetch(loop, client, guard, limits);
  std::promise<base::Result<std::string>> promise;
  fetch.start(url, [&](base::Result<std::string> result) { promise.set_value(std::move(result)); });
  auto future = promise.get_future();
  if (future.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
    ADD_FAILURE() << "fetch did not end";
    std::abort();
  }
  return future.get();
}

TEST(Fetch, ADocumentOfAnOpenedHostArrivesWhole) {
  const std::string body(200'000, 'x');
  WebServer server(Replies{{"/a.pdf", ok(body)}});
  const auto result = fetch(FetchGuard({server.host()}), server.url("/a.pdf"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(body, *result);
}

TEST(Fetch, ARedirectIsFollowedRelativeAndAbsoluteUpToTheBound) {
  WebServer server(Replies{{"/1", redirect("/2")},
                           {"/2", redirect("3?x=1")},
                           {"/3?x=1", ok("here")},
                           {"/loop", redirect("/loop")}});
  const FetchGuard guard({server.host()});
  EXPECT_EQ("here", fetch(guard, server.url("/1")).value());
  const auto looped = fetch(guard, server.url("/loop"));
  ASSERT_FALSE(looped);
  EXPECT_EQ(base::Code::kFetchFailed, looped.error().code);
}

TEST(Fetch, ARedirectToAPrivateAddressOrAnotherSchemeIsRefused) {
  WebServer inner(Replies{{"/secret", ok("secret")}});
  WebServer server(Replies{{"/inner", redirect(inner.url("/secret"))},
                           {"/file", redirect("file:///etc/passwd")},
                           {"/https", redirect("https://127.0.0.1/secret")}});
  const FetchGuard guard({server.host()});
  for (const char* path : {"/inner", "/file", "/https"}) {
    const auto result = fetch(guard, server.url(path));
    ASSERT_FALSE(result) << path;
    EXPECT_EQ(base::Code::kFetchRefused, result.error().code) << path << ": " << result.error().message;
  }
}

TEST(Fetch, EveryFormOfLoopbackIsRefusedAfterDns) {
  const FetchGuard guard({});
  for (const char* url :
       {"https://127.0.0.1/", "https://2130706433/", "https://017700000001/", "https://0x7f000001/",
        "https://0x7f.0.0.1/", "https://127.1/", "https://0/", "https://localhost/", "https://localhost./",
        "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[::]/",
        "https://169.254.169.254/latest/meta-data/", "https://10.0.0.1/", "https://192.168.1.1/"}) {
    const auto result = fetch(guard, url);
    ASSERT_FALSE(result) << url;
    EXPECT_EQ(base::Code::kFetchRefused, result.error().code) << url << ": " << result.error().message;
  }
  // Full-width digits are either turned into 127.0.0.1 and refused, or no URL at all: never fetched.
  EXPECT_FALSE(fetch(guard, "https://\xEF\xBC\x91\xEF\xBC\x92\xEF\xBC\x97.0.0.1/"));
}

TEST(Fetch, BytesAreCountedAsTheyArriveWhateverTheLengthSays) {
  WebServer server(
      Replies{{"/known", ok(std::string(5'000, 'x'))},
              {"/unknown", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + std::string(5'000, 'x')}});
  FetchLimits limits;
  limits.bytes_max = 1024;
  for (const char* path : {"/known", "/unknown"}) {
    const auto result = fetch(FetchGuard({server.host()}), server.url(path), limits);
    ASSERT_FALSE(result) << path;
    EXPECT_EQ(base::Code::kDocumentTooLarge, result.error().code) << path;
  }
}

TEST(Fetch, AMissingDocumentIsAnErrorAndAServerErrorMayBeTriedAgain) {
  WebServer server(Replies{{"/500", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"}});
  const FetchGuard guard({server.host()});
  const auto missing = fetch(guard, server.url("/none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(base::Code::kFetchFailed, missing.error().code);
  EXPECT_EQ(0, missing.error().retry_after.count());
  const auto busy = fetch(guard, server.url("/500"));
  ASSERT_FALSE(busy);
  EXPECT_GT(busy.error().retry_after.count(), 0);
}

TEST(Fetch, ACancelledFetchSaysNothingMore) {
  WebServer server(Replies{{"/silent", ""}});
  Loop loop("test");
  HttpClient client(loop);
  const FetchGuard guard({server.host()});
  Fetch fetch(loop, client, guard, {});
  const auto running =
      fetch.start(server.url("/silent"), [](base::Result<std::string>) { FAIL() << "it was cancelled"; });
  fetch.cancel(running);
  std::promise<void> passed;
  loop.post([&] { passed.set_value(); });
  EXPECT_EQ(std::future_status::ready, passed.get_future().wait_for(std::chrono::seconds(5)));
}

TEST(Loop, ATimerRunsOnceAndNotAfterItWasCancelled) {
  Loop loop("test");
  std::promise<void> ran;
  Loop::Timer never = loop.after(std::chrono::hours(1), [] { FAIL(); });
  never.cancel();
  loop.after(std::chrono::milliseconds(1), [&] { ran.set_value(); });
  EXPECT_EQ(std::future_status::ready, ran.get_future().wait_for(std::chrono::seconds(5)));
}

}  // namespace
}  // namespace millrace::net
