#include <gtest/gtest.h>

#include "api/admin/metrics_application.h"
#include "api/admission/keys.h"
#include "api/front/server.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

// The metrics listener of a process. `owner` is a valid API key.
class MetricsEndpoint : public Served {
 protected:
  ~MetricsEndpoint() override {
    if (listener) listener->stop();
  }

  void open_listener(bool open) {
    start();
    metrics_listener =
        std::make_unique<MetricsApplication>(MetricsApplication::Dependencies{*store, *pool, metrics}, open,
                                             std::vector<std::string>{"test"}, pepper_text);
    listener = std::make_unique<front::Server>(
        front::Server::Options{.host = "127.0.0.1", .port = 0, .threads = 1, .limits = {}},
        *metrics_listener);
    ASSERT_TRUE(listener->start().has_value());
  }
  Answer at_listener(const std::string& path, const std::string& with_key = {},
                     const std::string& method = "GET") {
    return send_request(listener->port(), {.method = method, .path = path, .key = with_key});
  }

  std::unique_ptr<MetricsApplication> metrics_listener;
  std::unique_ptr<front::Server> listener;
};

TEST_F(MetricsEndpoint, AnOpenEndpointNeedsNoKey) {
  open_listener(true);
  const Answer answer = at_listener("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(answer.body.find("millrace_request_duration_seconds"), std::string::npos);
}

TEST_F(MetricsEndpoint, AProtectedEndpointNeedsAKeyWithTheScope) {
  open_listener(false);
  EXPECT_EQ(at_listener("/metrics").status, 401);
  EXPECT_EQ(at_listener("/metrics", "mr_live_nobody").status, 401);
  EXPECT_EQ(at_listener("/metrics", owner).status, 403);
  EXPECT_EQ(at_listener("/metrics", key({schemas::Scope::kMetrics})).status, 200);
  EXPECT_EQ(at_listener("/metrics", key({schemas::Scope::kAdmin})).status, 200);
}

TEST_F(MetricsEndpoint, ARevokedKeyIsRefusedAtOnce) {
  open_listener(false);
  const std::string watcher = key({schemas::Scope::kMetrics});
  ASSERT_EQ(at_listener("/metrics", watcher).status, 200);
  ASSERT_TRUE(revoke_key(*store, std::string(*schemas::key_id(watcher))));
  EXPECT_EQ(at_listener("/metrics", watcher).status, 401);
}

TEST_F(MetricsEndpoint, NothingElseIsBehindIt) {
  open_listener(true);
  for (const char* path : {"/", "/v1/jobs", "/v1/admin/overview", "/metrics/", "/openapi.json"})
    EXPECT_EQ(at_listener(path, owner).status, 404) << path;
  const Answer posted = at_listener("/metrics", owner, "POST");
  EXPECT_EQ(posted.status, 405);
  EXPECT_EQ(posted.header("allow"), "GET, HEAD");
}

TEST_F(MetricsEndpoint, LivenessNeedsNoKey) {
  open_listener(false);
  EXPECT_EQ(at_listener("/livez").status, 200);
}

TEST_F(MetricsEndpoint, AnotherHostIsRefusedEvenIfItIsOpen) {
  open_listener(true);
  const auto status_of = [&](const char* path) {
    Connection connection(listener->port());
    connection.send_text("GET " + std::string(path) + " HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    return connection.answer().status;
  };
  EXPECT_EQ(status_of("/metrics"), 421);
  EXPECT_EQ(status_of("/livez"), 200);
}

}  // namespace
}  // namespace millrace::api::test
