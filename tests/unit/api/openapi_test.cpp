#include "api/openapi/openapi.h"

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/routing/route.h"
#include "schemas/chat/chat_request.h"

namespace millrace::api {
namespace {

using nlohmann::json;

class OpenApi : public ::testing::Test {
 protected:
  const json& operation(const Route& route) {
    std::string path(route.pattern);
    const std::size_t dots = path.find("...}");
    if (dots != std::string::npos) path.erase(dots, 3);
    std::string method(name(route.method));
    for (char& c : method) c = static_cast<char>(c | 0x20);
    return document.at("paths").at(path).at(method);
  }
  const json document = json::parse(openapi_document());
};

// Collects every "$ref" below `node`.
void collect_refs(const json& node, std::set<std::string>& refs) {
  if (node.is_object() && node.contains("$ref")) refs.insert(node["$ref"].get<std::string>());
  if (!node.is_structured()) return;
  for (const json& each : node) collect_refs(each, refs);
}

TEST_F(OpenApi, EveryRouteIsInItWithItsOperationId) {
  std::size_t operations = 0;
  for (const auto& [path, methods] : document["paths"].items()) operations += methods.size();
  EXPECT_EQ(operations, routes().size());
  for (const Route& route : routes()) EXPECT_EQ(operation(route)["operationId"], route.operation.id);
}

TEST_F(OpenApi, EveryOperationListsEveryStatusThatItMayAnswer) {
  for (const Route& route : routes()) {
    const json& replies = operation(route)["responses"];
    for (const char* status : {"400", "401", "403", "404", "405", "408", "413", "415", "417", "422", "429",
                               "431", "500", "501", "503"}) {
      EXPECT_TRUE(replies.contains(status)) << route.pattern << status;
    }
    EXPECT_FALSE(replies.contains("default"));
    EXPECT_EQ(replies.contains("409"), route.operation.state) << route.pattern;
  }
}

TEST_F(OpenApi, KeyedOperationsTakeEitherCredential) {
  for (const Route& route : routes()) {
    const json& security = operation(route)["security"];
    const json either = json::parse(R"([{"bearer":[]},{"apiKey":[]}])");
    if (route.access != Access::kMetrics) {
      EXPECT_EQ(security, route.access == Access::kOpen ? json::array() : either) << route.pattern;
    }
  }
}

TEST_F(OpenApi, EveryReferenceLeadsSomewhere) {
  std::set<std::string> refs;
  collect_refs(document, refs);
  EXPECT_GT(refs.size(), 20u);
  for (const std::string& ref : refs)
    EXPECT_TRUE(document.contains(json::json_pointer(ref.substr(1)))) << ref;
}

TEST_F(OpenApi, EveryTagOfARouteIsInTheList) {
  std::set<std::string> tags;
  for (const json& tag : document["tags"]) tags.insert(tag["name"].get<std::string>());
  for (const Route& route : routes())
    EXPECT_TRUE(tags.contains(std::string(route.operation.tag))) << route.pattern;
}

TEST_F(OpenApi, AStreamCarriesNoSchema) {
  const json& replies = document["paths"]["/v1/jobs/{job_id}/events"]["get"]["responses"];
  EXPECT_EQ(replies["200"]["content"]["text/event-stream"], json::object());
  EXPECT_TRUE(replies["200"]["content"].contains("application/json"));
  EXPECT_FALSE(replies["204"].contains("content"));
}

TEST_F(OpenApi, APendingResultHasNoContent) {
  EXPECT_FALSE(document["paths"]["/v1/jobs/{job_id}/result"]["get"]["responses"]["202"].contains("content"));
}

TEST_F(OpenApi, MachineEndpointsHaveTheErrorShapesOfTheirOwn) {
  const json& replies = document["paths"]["/v1/machines/{machine_id}/executions"]["post"]["responses"];
  const auto shape = [&](const char* status, const char* type) {
    return replies[status]["content"][type]["schema"]["$ref"].get<std::string>();
  };
  for (const char* status : {"401", "403", "409", "429", "503"})
    EXPECT_EQ(shape(status, "application/json"), "#/components/schemas/MachineError") << status;
  for (const char* status : {"400", "404", "405", "413", "415", "422", "431", "500"})
    EXPECT_EQ(shape(status, "application/problem+json"), "#/components/schemas/Problem") << status;
}

TEST_F(OpenApi, TheRequestBodyIsTheFieldTables) {
  EXPECT_EQ(document["components"]["schemas"]["ExecutionRequest"]["required"], json::parse(R"(["command"])"));
  EXPECT_EQ(document["components"]["schemas"]["OcrRequest"]["required"], json::parse(R"(["document"])"));
  EXPECT_EQ(
      document["paths"]["/v1/ocr"]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"],
      "#/components/schemas/OcrRequest");
}

TEST_F(OpenApi, EveryKeyThatTheReaderOfChatsTakesIsInItsRequest) {
  const json& keys = document["components"]["schemas"]["ChatRequest"]["properties"];
  for (const auto& table : {schemas::chat_request_fields(), schemas::chat_request_more_fields()}) {
    for (const schemas::Field& each : table) EXPECT_TRUE(keys.contains(std::string(each.name))) << each.name;
  }
  EXPECT_TRUE(keys.contains("deferred"));
  EXPECT_EQ(keys["priority"]["minimum"], -100);
  EXPECT_EQ(keys["priority"]["maximum"], 100);
}

TEST_F(OpenApi, TheDescriptionOfAChatSaysMoreThanItsScope) {
  const std::string text = document["paths"]["/v1/chat/completions"]["post"]["description"];
  EXPECT_TRUE(text.ends_with("\n\nScope `chat`.")) << text;
  EXPECT_NE(text.find("`deferred`"), std::string::npos);
}

}  // namespace
}  // namespace millrace::api
