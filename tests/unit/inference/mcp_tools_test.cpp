#include <gtest/gtest.h>

#include "ai/inference/mcp/messages.h"
#include "tests/support/cpu_time.h"

namespace millrace::inference {
namespace {

using schemas::Json;

constexpr int kDepthMax = 6;

Json tool(const std::string& name, Json schema = {{"type", "object"}}) {
  return {{"name", name}, {"inputSchema", std::move(schema)}};
}

std::optional<std::chrono::milliseconds> freshness(const Json& ttl) {
  base::Result<McpToolPage> page = read_mcp_tools({{"tools", Json::array()}, {"ttlMs", ttl}}, kDepthMax);
  EXPECT_TRUE(page);
  return page ? page->ttl : std::nullopt;
}

std::vector<std::string> names_of(const std::vector<Json>& tools) {
  base::Result<McpToolPage> page = read_mcp_tools({{"tools", tools}}, kDepthMax);
  EXPECT_TRUE(page);
  std::vector<std::string> names;
  if (!page) return names;
  for (const McpListedTool& listed : page->tools) names.push_back(listed.tool.name);
  return names;
}

Json with_property(Json property) {
  return {{"type", "object"}, {"properties", {{"region", std::move(property)}}}};
}

Json annotated(const Json& header, const std::string& type = "string") {
  return with_property({{"type", type}, {"x-mcp-header", header}});
}

std::vector<McpParam> params_of(const Json& schema) {
  base::Result<McpToolPage> page = read_mcp_tools({{"tools", Json::array({tool("t", schema)})}}, kDepthMax);
  EXPECT_TRUE(page && page->tools.size() == 1) << schema;
  return page && page->tools.size() == 1 ? page->tools[0].params : std::vector<McpParam>{};
}

TEST(McpTools, APageIsFreshForItsOwnTimeWithinADay) {
  using std::chrono::milliseconds;
  EXPECT_EQ(milliseconds(1500), freshness(1500));
  EXPECT_EQ(milliseconds(0), freshness(-1));
  EXPECT_EQ(milliseconds(86'400'000), freshness(std::int64_t{1} << 60));
  EXPECT_EQ(std::nullopt, freshness("1500"));
}

TEST(McpTools, APageGivesItsToolsAndTheNextPagesPlace) {
  const Json result =
      Json::parse(R"({"tools":[{"name":"sum","description":"adds","inputSchema":{"type":"object"}}],
    "nextCursor":"2"})");
  const auto page = read_mcp_tools(result, kDepthMax);
  ASSERT_TRUE(page);
  ASSERT_EQ(1u, page->tools.size());
  EXPECT_EQ("adds", page->tools[0].tool.description);
  EXPECT_EQ(Json::parse(R"({"type":"object","properties":{}})"),
            Json::parse(page->tools[0].tool.input_schema));
  EXPECT_EQ("2", page->cursor);
}

TEST(McpTools, AToolWithoutAFitNameOrSchemaIsLeftOutWithTheReason) {
  const Json unnamed{{"inputSchema", {{"type", "object"}}}}, unlisted = Json::array({tool("x")});
  const std::vector<Json> listed{tool(""),
                                 tool("x\ny"),
                                 tool(std::string(129, 'n')),
                                 unnamed,
                                 Json("text"),
                                 unlisted,
                                 {{"name", 3}},
                                 tool("s", {{"type", "string"}}),
                                 tool("l", {{"type", {"string", "null"}}}),
                                 tool("t", {{"type", 3}}),
                                 tool("b", true),
                                 tool("c", {1}),
                                 tool("p", {{"properties", {"q"}}}),
                                 tool("a")};
  EXPECT_EQ((std::vector<std::string>{"a"}), names_of(listed));
  const auto page = read_mcp_tools({{"tools", listed}}, kDepthMax);
  std::vector<std::string> named;
  for (const McpLeftOutTool& each : page->left_out) {
    EXPECT_FALSE(each.reason.empty()) << each.name;
    EXPECT_LE(each.name.size(), 64u);
    EXPECT_EQ(std::string::npos, each.name.find('\n'));
    if (each.name.size() == 1) named.push_back(each.name);
  }
  EXPECT_EQ(listed.size() - 1, page->left_out.size());
  EXPECT_EQ((std::vector<std::string>{"s", "l", "t", "b", "c", "p"}), named);
}

TEST(McpTools, ALooselyDescribedToolHasTheSchemaOfAnObject) {
  const Json complete = Json::parse(R"({"type":"object","properties":{}})");
  const Json no_schema{{"name", "t"}};
  for (const Json& listed :
       {no_schema, tool("t", nullptr), tool("t", Json::object()), tool("t", Json::array()),
        tool("t", {{"type", "object"}}), tool("t", {{"type", nullptr}}), tool("t", {{"type", {"object"}}}),
        tool("t", {{"type", {"null", "object"}}}), tool("t", {{"type", "object"}, {"properties", nullptr}}),
        tool("t", {{"properties", Json::array()}}), tool("t", {{"required", nullptr}})}) {
    const auto page = read_mcp_tools({{"tools", {listed}}}, kDepthMax);
    ASSERT_TRUE(page && page->tools.size() == 1 && page->left_out.empty()) << listed;
    EXPECT_EQ(complete, Json::parse(page->tools[0].tool.input_schema)) << listed;
  }
}

TEST(McpTools, NestedSchemasAreCompletedAndDataIsNot) {
  const Json schema = Json::parse(R"({"properties": {"properties": {"type": "object", "properties": null,
      "required": null, "default": {"properties": null}}, "l": {"items": {"anyOf": [{"properties": []}]}}}})");
  const auto page = read_mcp_tools({{"tools", {tool("t", schema)}}}, 12);
  ASSERT_TRUE(page && page->tools.size() == 1);
  EXPECT_EQ(
      Json::parse(R"({"type": "object", "properties": {"properties": {"type": "object", "properties": {},
      "default": {"properties": null}}, "l": {"items": {"anyOf": [{"properties": {}}]}}}})"),
      Json::parse(page->tools[0].tool.input_schema));
}

TEST(McpTools, AToolWithASchemaDeeperThanTheBoundIsLeftOut) {
  Json schema{{"type", "string"}};
  for (int level = 1; level < kDepthMax; level += 2) schema = with_property(schema);
  schema["type"] = "object";
  EXPECT_EQ((std::vector<std::string>{}), names_of({tool("deep", schema)}));
  EXPECT_EQ((std::vector<std::string>{"shallow"}),
            names_of({tool("shallow", with_property({{"type", "string"}}))}));
}

TEST(McpTools, WhatIsNoListIsAnError) {
  for (const Json& result : {Json::object(), Json{{"tools", 3}}})
    EXPECT_EQ(base::Code::kUpstream, read_mcp_tools(result, kDepthMax).error().code);
}

TEST(McpTools, AnAnnotatedArgumentIsSentAsAHeader) {
  const auto params = params_of(annotated("Region"));
  ASSERT_EQ(1u, params.size());
  using Headers = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ((Headers{{"Mcp-Param-Region", "eu"}}), mcp_param_headers(params, {{"region", "eu"}}));
  EXPECT_EQ((Headers{{"Mcp-Param-Region", "42"}}), mcp_param_headers(params, {{"region", 42}}));
  EXPECT_EQ((Headers{{"Mcp-Param-Region", "true"}}), mcp_param_headers(params, {{"region", true}}));
  EXPECT_EQ((Headers{}), mcp_param_headers(params, {{"region", nullptr}}));
  EXPECT_EQ((Headers{}), mcp_param_headers(params, Json::object()));
}

TEST(McpTools, AnAnnotatedArgumentIsFoundInsideAnother) {
  const Json inner = with_property({{"type", "string"}, {"x-mcp-header", "R"}});
  const Json schema{{"type", "object"}, {"properties", {{"place", inner}}}};
  const auto headers = mcp_param_headers(params_of(schema), {{"place", {{"region", "eu"}}}});
  ASSERT_EQ(1u, headers.size());
  EXPECT_EQ("eu", headers[0].second);
}

TEST(McpTools, AToolWithAnAnnotationAgainstTheRulesIsLeftOut) {
  Json twice = annotated("Region");
  twice["properties"]["other"] = {{"type", "string"}, {"x-mcp-header", "REGION"}};
  Json in_list = with_property({{"type", "array"}, {"items", {{"type", "string"}, {"x-mcp-header", "R"}}}});
  Json at_root = annotated("R");
  at_root["x-mcp-header"] = "Root";
  for (const Json& schema : {annotated("a b"), annotated(""), annotated("a\r\nb"), annotated(3),
                             annotated("R", "object"), twice, in_list, at_root})
    EXPECT_EQ((std::vector<std::string>{}), names_of({tool("t", schema)})) << schema;
}

TEST(McpTools, ManyAnnotationsAreReadInLittleTime) {
  constexpr int kParams = 25'000;
  Json properties = Json::object();
  for (int i = 0; i < kParams; ++i) {
    const std::string name = std::string(20, 'x') + std::to_string(100'000 + i);
    properties[name] = {{"type", "string"}, {"x-mcp-header", name}};
  }
  const Json schema{{"type", "object"}, {"properties", std::move(properties)}};
  const auto read = [&] { EXPECT_EQ(std::size_t{kParams}, params_of(schema).size()); };
  EXPECT_LT(support::cpu_seconds(read), 2);
}

TEST(McpTools, AnAnnotationInDataIsNone) {
  EXPECT_TRUE(params_of(with_property({{"type", "object"}, {"default", {{"x-mcp-header", "R"}}}})).empty());
}

}  // namespace
}  // namespace millrace::inference
