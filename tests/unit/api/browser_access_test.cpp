// Which hosts and which web pages the gateway answers.
#include <gtest/gtest.h>

#include "api/admission/allowed_hosts.h"
#include "tests/unit/api/served.h"

namespace millrace::api::test {
namespace {

TEST(AllowedHosts, NamesAndAddressesAreAllowedWithAnyPort) {
  const AllowedHosts hosts({"gateway.example", "NAS"});
  for (const char* host : {"gateway.example", "GATEWAY.example:8080", "gateway.example.", "nas", "localhost",
                           "localhost:1", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080", "192.0.2.1"})
    EXPECT_TRUE(hosts.contains(host)) << host;
}

TEST(AllowedHosts, OtherNamesAreNot) {
  const AllowedHosts hosts({"gateway.example"});
  for (const char* host : {"evil.example", "gateway.example.evil.example", "x.gateway.example",
                           "gateway.example..", "", ":80", "localhost.evil.example", "127.0.0.1.evil.example",
                           "127.1", "0x7f000001", "localhost:", "localhost:80:80",
                           "localhost:80.evil.example", "[::1", "[evil]", "[::1].evil.example", "[::1]x:80"})
    EXPECT_FALSE(hosts.contains(host)) << host;
}

class BrowserAccess : public Served {
 protected:
  Answer from_host(const std::string& host, const std::string& path, const std::string& more = {}) {
    Connection connection(server->port());
    connection.send_text("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n");
    return connection.answer();
  }
  Answer options(const std::string& path, const std::string& headers) {
    return send({.method = "OPTIONS", .path = path, .headers = headers});
  }
};

TEST_F(BrowserAccess, AnotherHostGets421OnEveryRouteButHealth) {
  start({.metrics_open = true, .hosts = {"gateway.example", "test"}});
  const std::string key = "X-API-Key: " + owner + "\r\n";
  for (const char* path :
       {"/", "/docs", "/openapi.json", "/version", "/metrics", "/v1/models", "/no/such/path"}) {
    const Answer answer = from_host("evil.example", path, key);
    EXPECT_EQ(answer.status, 421) << path;
    EXPECT_NE(answer.body.find("http.hosts"), std::string::npos) << answer.body;
    EXPECT_EQ(answer.header("x-should-retry"), "false");
    EXPECT_NE(from_host("gateway.example:8080", path, key).status, 421) << path;
    EXPECT_NE(from_host("127.0.0.1", path, key).status, 421) << path;
  }
  for (const char* path : {"/health", "/livez", "/readyz"})
    EXPECT_EQ(from_host("evil.example", path).status, 200) << path;
}

TEST_F(BrowserAccess, WithoutOriginsThereIsNoCors) {
  start();
  const std::string origin = "Origin: https://app.example\r\n";
  EXPECT_EQ(options("/v1/models", origin + "Access-Control-Request-Method: GET\r\n").status, 405);
  EXPECT_FALSE(get("/v1/models", origin).has("access-control-allow-origin"));
  EXPECT_FALSE(get("/v1/models", origin).has("vary"));
}

TEST_F(BrowserAccess, APreflightOfAnAllowedOriginIsAnsweredWithoutAKey) {
  start({.cors_origins = {"https://app.example"}});
  const Answer answer = options("/v1/chat/completions",
                                "Origin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n"
                                "Access-Control-Request-Headers: authorization,x-stainless-lang\r\n");
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.header("access-control-allow-origin"), "https://app.example");
  EXPECT_NE(answer.header("access-control-allow-methods").find("POST"), std::string::npos);
  EXPECT_EQ(answer.header("access-control-allow-headers"), "authorization,x-stainless-lang");
  EXPECT_TRUE(answer.has("access-control-max-age"));
  EXPECT_EQ(options("/no/such/path", "Origin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n")
                .status,
            404);
  EXPECT_EQ(options("/v1/models", "Origin: https://app.example\r\n").status, 405);  // no preflight
}

TEST_F(BrowserAccess, OnlyPagesOfAllowedOriginsReadResponses) {
  start({.cors_origins = {"https://app.example", "http://localhost:3000"}});
  for (const char* origin : {"https://app.example", "http://localhost:3000"}) {
    const Answer answer = get("/v1/models", "Origin: " + std::string(origin) + "\r\n");
    EXPECT_EQ(answer.header("access-control-allow-origin"), origin);
    EXPECT_EQ(answer.header("vary"), "origin");
    EXPECT_NE(answer.header("access-control-expose-headers").find("x-request-id"), std::string::npos);
  }
  for (const char* origin :
       {"https://evil.example", "http://app.example", "https://app.example:444", "null", ""}) {
    const Answer answer = get("/v1/models", "Origin: " + std::string(origin) + "\r\n");
    EXPECT_FALSE(answer.has("access-control-allow-origin")) << origin;
    EXPECT_EQ(answer.header("vary"), "origin") << "a cache must not give it to an allowed page";
    const std::string headers =
        "Origin: " + std::string(origin) + "\r\nAccess-Control-Request-Method: GET\r\n";
    EXPECT_EQ(options("/v1/models", headers).status, 405) << origin;
  }
}

TEST_F(BrowserAccess, ResponsesToRequestsWithoutAnOriginVaryToo) {
  start({.cors_origins = {"https://app.example"}});
  for (const char* path : {"/v1/models", "/health", "/v1/no-such"})
    EXPECT_EQ(get(path).header("vary"), "origin") << path;
  EXPECT_EQ(get("/", "Content-Length: x\r\n").header("vary"), "origin") << "an error of the front end";
}

TEST_F(BrowserAccess, APageReadsErrorsToo) {
  start({.cors_origins = {"*"}});
  const std::string origin = "Origin: https://any.example\r\n";
  const auto allows = [](const Answer& answer) { return answer.header("access-control-allow-origin"); };
  EXPECT_EQ(allows(send({.path = "/v1/models", .headers = origin})), "https://any.example");  // 401
  EXPECT_EQ(allows(get("/v1/no-such", origin)), "https://any.example");
  const Answer malformed = get("/", origin + "Content-Length: x\r\n");
  EXPECT_EQ(malformed.status, 400);
  EXPECT_EQ(allows(malformed), "https://any.example");
}

}  // namespace
}  // namespace millrace::api::test
