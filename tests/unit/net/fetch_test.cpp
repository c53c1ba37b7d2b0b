#include "platform/net/fetch.h"

#include <cstdlib>
#include <future>

#include <curl/curl.h>
#include <gtest/gtest.h>

#include "tests/support/plain_http.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"
#include "tests/unit/net/fetching.h"

namespace millrace::net {
namespace {

using testing::fetch;
using testing::ok;
using testing::redirect;
using testing::Replies;
using testing::WebServer;

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
                           {"/3?x=1", redirect("/4")},
                           {"/4", ok("here")},
                           {"/0", redirect("/1")}});
  const FetchGuard guard({server.host()});
  EXPECT_EQ("here", fetch(guard, server.url("/1")).value());
  const auto one_too_many = fetch(guard, server.url("/0"));
  ASSERT_FALSE(one_too_many);
  EXPECT_EQ(base::Code::kFetchFailed, one_too_many.error().code);
}

TEST(Fetch, NoCredentialsOfTheUsersNetrcAreSent) {
  WebServer server(Replies{{"/a.pdf", ok("itself")}});
  support::TempDir home;
  home.write(".netrc",
             "machine 127.0.0.1 login someone password secret\ndefault login other password secret\n");
  const char* had = std::getenv("HOME");
  const std::string before = had ? had : "";
  ::setenv("HOME", home.str().c_str(), 1);
  const auto result = fetch(FetchGuard({server.host()}), server.url("/a.pdf"));
  had ? ::setenv("HOME", before.c_str(), 1) : ::unsetenv("HOME");
  EXPECT_EQ("itself", result.value());
  EXPECT_EQ(std::string::npos, server.last_head().find("uthorization")) << server.last_head();
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
}

TEST(Fetch, AHostNameOfOtherLettersIsRefusedWhateverItMapsTo) {
  const FetchGuard guard({});
  for (const char* url :
       {"https://locALho\u017ft/", "https://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/",
        "https://\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54/",
        "https://127\u30020\u30020\u30021/", "https://\u2460\u2461\u2466.0.0.1/",
        "https://\uff11\uff12\uff17.0.0.1/", "https://localho%C5%BFt/", "https://b\u00fccher.example/"}) {
    const auto result = fetch(guard, url);
    ASSERT_FALSE(result) << url;
    EXPECT_EQ(base::Code::kFetchRefused, result.error().code) << url << ": " << result.error().message;
  }
}

TEST(Fetch, AProxyOfTheEnvironmentIsNotUsed) {
  WebServer proxy(Replies{});
  WebServer server(Replies{{"/a.pdf", ok("itself")}});
  const std::string address = "http://" + proxy.host();
  constexpr const char* kNames[] = {"http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"};
  for (const char* name : kNames) ::setenv(name, address.c_str(), 1);
  const auto result = fetch(FetchGuard({server.host()}), server.url("/a.pdf"));
  const auto refused = fetch(FetchGuard({}), "https://127.0.0.1/");
  for (const char* name : kNames) ::unsetenv(name);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ("itself", *result);
  ASSERT_FALSE(refused);
  EXPECT_EQ(base::Code::kFetchRefused, refused.error().code)
      << "the guard must check the target's address, not the proxy's";
  EXPECT_EQ("", proxy.last_head());
}

// 100,000 zeros.
const std::string& packed_zeros() {
  static constexpr char kBytes[] =
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x31\x01\x00\x00\x00\xc2\xa0\xf5\x4f\x6d\x0d\x0f"
      "\xa0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
      "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
      "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
      "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
      "\x00\x80\x57\x03\x7d\x95\x11\xd4\xa0\x86\x01\x00";
  static const std::string bytes(kBytes, sizeof kBytes - 1);
  return bytes;
}

TEST(Fetch, ACompressedReplyIsNeitherRequestedNorDecompressed) {
  WebServer server(Replies{{"/zip", ok(packed_zeros(), "Content-Encoding: gzip\r\n")}});
  FetchLimits limits;
  limits.bytes_max = 1024;
  const auto result = fetch(FetchGuard({server.host()}), server.url("/zip"), limits);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(packed_zeros(), *result);
  EXPECT_NE(server.last_head().find("\r\nAccept-Encoding: identity\r\n"), std::string::npos);
}

TEST(HttpClient, ACompressedReplyIsBoundedByItsDecompressedSize) {
  WebServer server(Replies{{"/zip", ok(packed_zeros(), "Content-Encoding: gzip\r\n")}});
  Loop loop("test");
  HttpClient client(loop, support::plain_http());
  HttpRequest request;
  request.url = server.url("/zip");
  request.identity_encoding = false;
  request.body_bytes_max = 100'000;
  const auto whole = client.fetch_blocking(request);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(100'000U, whole->body.size());
  request.body_bytes_max = 99'999;
  const auto cut = client.fetch_blocking(request);
  ASSERT_FALSE(cut);
  EXPECT_EQ(base::Code::kTooLarge, cut.error().code);
}

TEST(HttpClient, AReusedHandleKeepsNothingOfItsEarlierRequest) {
  const std::string reply = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
  WebServer server({{"/first", reply}, {"/second", reply}});
  Loop loop("test");
  HttpClient client(loop, support::plain_http());
  HttpRequest first;
  first.method = "POST";
  first.url = server.url("/first");
  first.headers = {{"Authorization", "Bearer secret"}, {"Content-Type", "application/json"}};
  first.identity_encoding = false;
  first.body_bytes_max = 1;
  ASSERT_TRUE(client.fetch_blocking(first));
  HttpRequest second;
  second.url = server.url("/second");
  const auto answer = client.fetch_blocking(second);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "x");
  const std::string head = server.last_head();
  EXPECT_TRUE(head.starts_with("GET /second HTTP/1.1\r\n")) << head;
  for (const char* left_over : {"Authorization", "Content-", "gzip"})
    EXPECT_EQ(head.find(left_over), std::string::npos) << head;
}

TEST(HttpClient, NamesAreLookedUpOffTheLoop) {
  EXPECT_NE(0, curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ASYNCHDNS);
}

TEST(Fetch, AReceiverWithoutCapacityPausesTheSender) {
  const std::string body(std::size_t{32} << 20, 'x');
  WebServer server(Replies{{"/big", ok(body)}});
  Loop loop("test");
  HttpClient client(loop, support::plain_http());
  const FetchGuard guard({server.host()});
  Fetch fetch(loop, client, guard, {});
  std::promise<void> full;
  std::promise<base::Status> ended;
  std::size_t taken = 0;  // used only on the loop's thread, like the whole receiver
  bool has_capacity = true;
  FetchHandlers receiver;
  receiver.is_ready = [&] { return has_capacity; };
  receiver.on_data = [&](std::string_view bytes) {
    const bool below = taken < (std::size_t{1} << 20);
    taken += bytes.size();
    if (below && taken >= (std::size_t{1} << 20)) {
      has_capacity = false;
      full.set_value();
    }
    return true;
  };
  receiver.on_done = [&](base::Status how) { ended.set_value(std::move(how)); };
  const auto running = fetch.start(server.url("/big"), std::move(receiver));
  ASSERT_EQ(std::future_status::ready, full.get_future().wait_for(std::chrono::seconds(10)));
  EXPECT_FALSE(
      support::wait_until([&] { return server.sent_bytes() > body.size(); }, std::chrono::milliseconds(200)));
  auto end = ended.get_future();
  loop.post([&] {
    EXPECT_LT(taken, (std::size_t{1} << 20) + 65'536);
    has_capacity = true;
    Fetch::resume(*running);
  });
  ASSERT_EQ(std::future_status::ready, end.wait_for(std::chrono::seconds(10)));
  EXPECT_TRUE(end.get());
  EXPECT_EQ(body.size(), taken);
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

TEST(Fetch, ACancelledFetchCallsNoFurtherCallback) {
  WebServer server(Replies{{"/silent", ""}});
  Loop loop("test");
  HttpClient client(loop, support::plain_http());
  const FetchGuard guard({server.host()});
  Fetch fetch(loop, client, guard, {});
  FetchHandlers receiver;
  receiver.on_done = [](base::Status) { FAIL() << "on_done was called after the cancellation"; };
  const auto running = fetch.start(server.url("/silent"), std::move(receiver));
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
