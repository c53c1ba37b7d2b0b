#include "api/routing/router.h"

#include <set>

#include <gtest/gtest.h>

#include "api/routing/route.h"
#include "api/routing/router.h"

namespace millrace::api {
namespace {

class Routing : public ::testing::Test {
 protected:
  Match match(std::string_view method, std::string_view path) { return router.match(method, path); }
  Router router{routes()};
};

TEST_F(Routing, FindsARowByMethodAndPath) {
  EXPECT_EQ(match("POST", "/v1/ocr").route->operation.id, "createOcr");
  EXPECT_EQ(match("GET", "/v1/jobs").route->operation.id, "listJobs");
  EXPECT_EQ(match("GET", "/v1/jobs/x").route->operation.id, "getJob");
  EXPECT_EQ(match("GET", "/v1/jobs/x/result").route->operation.id, "getJobResult");
  EXPECT_EQ(match("GET", "/").route->operation.id, "getRoot");
}

TEST_F(Routing, HeadIsAGet) { EXPECT_EQ(match("HEAD", "/health").route, match("GET", "/health").route); }

TEST_F(Routing, AHeadThatWouldCostAsMuchAsItsGetIsNotAllowed) {
  const Match found = match("HEAD", "/v1/machines/x/files/a/b");
  EXPECT_EQ(found.route, nullptr);
  EXPECT_EQ(found.allow.find("HEAD"), std::string::npos) << found.allow;
  EXPECT_NE(match("GET", "/v1/machines/x/files/a/b").route, nullptr);
}

TEST_F(Routing, AKnownPathWithAnotherMethodSaysWhatItAllows) {
  for (std::string_view method : {"GET", "OPTIONS", "TRACE", "BREW", "post"}) {
    const Match found = match(method, "/v1/ocr");
    EXPECT_EQ(found.route, nullptr) << method;
    EXPECT_EQ(found.allow, "POST");
  }
  EXPECT_EQ(match("PUT", "/v1/jobs/x").allow, "GET, HEAD, DELETE");
}

TEST_F(Routing, AnUnknownPathAllowsNothing) {
  for (std::string_view path : {"/v1", "/v1/ocr/", "/v1/jobs/", "/v1/jobs/x/y", "//v1/ocr", "v1/ocr", "*", "",
                                "/V1/ocr", "/v1/jobs//result", "/v1/models/", "/v1/jobs/%zz"}) {
    const Match found = match("GET", path);
    EXPECT_EQ(found.route, nullptr) << path;
    EXPECT_EQ(found.allow, "") << path;
  }
}

TEST_F(Routing, APathThatIsNotThereSaysWhatToUseInstead) {
  const auto advice = [&](std::string_view path) { return no_such_path(router, path); };
  const auto begin = [](std::string_view rest) {
    return "There is no endpoint at this path" + std::string(rest);
  };
  EXPECT_EQ(advice("/chat/completions"), begin("; use /v1/chat/completions"));
  EXPECT_EQ(advice("/v1/v1/models"), begin("; use /v1/models"));
  EXPECT_EQ(advice("/v1/models/"), begin("; use /v1/models"));
  EXPECT_EQ(advice("/v1//chat/completions"), begin("; use /v1/chat/completions"));
  EXPECT_EQ(advice("//v1/v1//models//"), begin("; use /v1/models"));
  EXPECT_EQ(advice("/v1/completions"), begin(": chat is at /v1/chat/completions"));
  EXPECT_EQ(advice("/completions"), begin(": chat is at /v1/chat/completions"));
  for (std::string_view path : {"/v1/responses", "/v1/responses/resp_1", "/v1/audio/voices",
                                "/v1/images/edits", "/v1/messages", "/v1/moderations"})
    EXPECT_TRUE(advice(path).starts_with(begin(": "))) << path;
  const std::string long_path = "/jobs/" + std::string(500, 'x');
  for (std::string_view path : {"/v1/completionsx", "/v1", "", "*", "/nothing", long_path.c_str()})
    EXPECT_EQ(advice(path), begin("")) << path;
}

TEST_F(Routing, ParametersAreDecodedAfterMatching) {
  EXPECT_EQ(match("GET", "/v1/models/openai%2Fgpt-x").params, std::vector<std::string>{"openai/gpt-x"});
  EXPECT_EQ(match("GET", "/v1/models/openai/gpt-x").params, std::vector<std::string>{"openai/gpt-x"});
  EXPECT_EQ(match("GET", "/v1/jobs/a%2Fresult").route->operation.id, "getJob");
}

TEST(RouteTable, EveryRowHasAHandlerAnOperationIdOfItsOwnAndAReply) {
  std::set<std::string_view> ids;
  std::set<std::pair<Method, std::string_view>> rows;
  for (const Route& route : routes()) {
    EXPECT_NE(route.handler, nullptr) << route.pattern;
    EXPECT_FALSE(route.operation.replies.empty()) << route.pattern;
    EXPECT_FALSE(route.operation.summary.empty()) << route.pattern;
    EXPECT_TRUE(ids.insert(route.operation.id).second) << route.operation.id;
    EXPECT_TRUE(rows.insert({route.method, route.pattern}).second) << route.pattern;
    EXPECT_GT(route.body_max, 0u);
  }
}

TEST(RouteTable, OnlyTheContractsListIsOpen) {
  const std::set<std::string_view> open{
      "/",
      "/docs",
      "/openapi.json",
      "/health",
      "/livez",
      "/readyz",
      "/version",
      "/dashboard/{file}",              // files of the page at `/`; they contain no data
      "/v1/images/files/{image_id}",    // authorised by its signed URL
      "/v1/files/signed/{signed_id}"};  // the same
  for (const Route& route : routes()) {
    EXPECT_EQ(route.access == Access::kOpen, open.contains(route.pattern)) << route.pattern;
  }
}

TEST(Query, PairsAreDecoded) {
  const schemas::QueryPairs expected{{"a", "1"}, {"b", "x y"}, {"c", ""}, {"d", "é/%zz"}};
  EXPECT_EQ(query_pairs("a=1&b=x+y&c&&d=%C3%A9%2F%25zz"), expected);
  EXPECT_EQ(query_pairs("a=%zz"), (schemas::QueryPairs{{"a", "%zz"}}));
}

TEST(Query, TheFirstPairWithAnInvalidEscapeIsFound) {
  EXPECT_EQ(invalid_pair("a=1&b=%zz&c=%"), "b=%zz");
  EXPECT_EQ(invalid_pair("a=%4&41=1"), "a=%4") << "an escape ends with its pair";
  EXPECT_EQ(invalid_pair("a=%41&b"), std::nullopt);
}

}  // namespace
}  // namespace millrace::api
