#include <gtest/gtest.h>

#include "tests/unit/net/fetching.h"

// Documents that do not arrive, or arrive too slowly. The default limits are those of FetchLimits.
namespace millrace::net {
namespace {

using testing::fetch;
using testing::Pace;
using testing::redirect;
using testing::Replies;
using testing::WebServer;

constexpr std::chrono::milliseconds kLongerThanTheTest{20'000};

std::string announced(std::size_t bytes, const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n" + body;
}

// Checks that the document failed with the named, retryable time-out.
void expect_time_out(const base::Result<std::string>& document, std::string_view name) {
  ASSERT_FALSE(document);
  EXPECT_EQ(base::Code::kFetchFailed, document.error().code);
  EXPECT_NE(std::string::npos, document.error().message.find(name)) << document.error().message;
  EXPECT_GT(document.error().retry_after.count(), 0);
}

TEST(Fetch, ASilentServerIsAbandoned) {
  WebServer server(Replies{{"/mute", ""}, {"/stuck", announced(1'000, "a part of it")}},
                   Pace{.patience = kLongerThanTheTest});
  FetchLimits limits;
  limits.stall_timeout = std::chrono::seconds(1);
  for (const char* path : {"/mute", "/stuck"}) {
    expect_time_out(fetch(FetchGuard({server.host()}), server.url(path), limits), "time-out stall: 1000 ms");
  }
}

TEST(Fetch, ASlowlyTricklingDocumentIsAbandoned) {
  WebServer server(Replies{{"/drip", announced(100'000, std::string(100'000, 'x'))}},
                   Pace{.piece = 10, .pause = std::chrono::milliseconds(5)});
  FetchLimits limits;
  limits.total_timeout = std::chrono::milliseconds(500);
  expect_time_out(fetch(FetchGuard({server.host()}), server.url("/drip"), limits), "time-out total: 500 ms");
}

TEST(Fetch, TheTotalTimeOutIsThatOfAllHops) {
  const Pace slow{.piece = 10, .pause = std::chrono::milliseconds(50)};  // about 400 ms for a redirect
  WebServer server(Replies{{"/1", redirect("/2")}, {"/2", redirect("/3")}, {"/3", redirect("/4")}}, slow);
  FetchLimits limits;
  limits.total_timeout = std::chrono::milliseconds(900);
  expect_time_out(fetch(FetchGuard({server.host()}), server.url("/1"), limits), "time-out total: 900 ms");
}

}  // namespace
}  // namespace millrace::net
