#include "api/openapi.h"

#include <algorithm>

#include "api/openapi_replies.h"
#include "api/routes.h"
#include "schemas/json_body.h"

namespace millrace::api {
namespace {

using nlohmann::json;

// "{model...}" → "{model}": OpenAPI has no word for the rest of a path.
std::string path_template(std::string_view pattern) {
  std::string out(pattern);
  const std::size_t dots = out.find("...}");
  if (dots != std::string::npos) out.erase(dots, 3);
  return out;
}

void add_path_params(json& parameters, std::string_view pattern) {
  while (true) {
    const std::size_t open = pattern.find('{');
    if (open == std::string_view::npos) return;
    const std::size_t end = pattern.find('}', open);
    std::string_view name = pattern.substr(open + 1, end - open - 1);
    if (name.ends_with("...")) name.remove_suffix(3);
    parameters.push_back(
        {{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
    pattern.remove_prefix(end + 1);
  }
}

void add_query_params(json& parameters, std::span<const schemas::Field> fields) {
  for (const schemas::Field& field : fields) {
    json schema = schemas::json_schema(field);
    const json text = schema.value("description", "");
    schema.erase("description");
    parameters.push_back({{"name", field.name},
                          {"in", "query"},
                          {"required", field.required},
                          {"description", text},
                          {"schema", std::move(schema)}});
  }
}

void add_header_params(json& parameters, std::string_view names) {
  parameters.push_back(openapi_ref("parameters", "RequestId"));
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    parameters.push_back(openapi_ref("parameters", names.substr(0, end)));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

json security(const Route& route) {
  json keys = json::array({{{"bearer", json::array()}}, {{"apiKey", json::array()}}});
  switch (route.access) {
    case Access::kOpen:
      return json::array();
    case Access::kMetrics: {
      json both = keys;
      both.push_back(json::object());
      return both;
    }
    case Access::kScope:
      break;
  }
  return keys;
}

std::string scope_note(const Route& route) {
  switch (route.access) {
    case Access::kOpen:
      return "Open: needs no key.";
    case Access::kMetrics:
      return "Open while the listener is bound to loopback, else scope `metrics` or `admin`.";
    case Access::kScope:
      break;
  }
  return "Scope `" + std::string(schemas::name(route.scope)) + "`.";
}

std::string description(const Route& route) {
  const std::string_view about = route.operation.about;
  return std::string(about).append(about.empty() ? "" : "\n\n").append(scope_note(route));
}

const char* media_type(BodyKind body) {
  return body == BodyKind::kForm ? "multipart/form-data" : "application/json";
}

json operation(const Route& route) {
  const Operation& facts = route.operation;
  json out = {{"operationId", facts.id},     {"tags", json::array({facts.tag})},
              {"summary", facts.summary},    {"description", description(route)},
              {"security", security(route)}, {"responses", openapi_replies(route)}};
  json parameters = json::array();
  add_path_params(parameters, route.pattern);
  add_query_params(parameters, facts.query);
  add_header_params(parameters, facts.headers);
  out["parameters"] = std::move(parameters);
  if (!facts.body.empty()) {
    out["requestBody"] = {
        {"required", route.body != BodyKind::kOptional},
        {"content", {{media_type(route.body), {{"schema", openapi_ref("schemas", facts.body)}}}}}};
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c | 0x20);
  return out;
}

}  // namespace

std::string openapi_document() {
  json document = {{"openapi", "3.1.0"},
                   {"info",
                    {{"title", "Millrace"},
                     {"version", MILLRACE_VERSION},
                     {"summary", "A self-hosted compute and AI gateway with a durable job queue"},
                     {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
                   {"servers", json::array({{{"url", "/"}}})},
                   {"tags", json::array({{{"name", "service"}},
                                         {{"name", "models"}},
                                         {{"name", "chat"}},
                                         {{"name", "embeddings"}},
                                         {{"name", "images"}},
                                         {{"name", "ocr"}},
                                         {{"name", "audio"}},
                                         {{"name", "machines"}},
                                         {{"name", "executions"}},
                                         {{"name", "artifacts"}},
                                         {{"name", "ssh"}},
                                         {{"name", "jobs"}},
                                         {{"name", "admin"}}})},
                   {"components", openapi_components()}};
  json& paths = document["paths"] = json::object();
  for (const Route& route : routes())
    paths[path_template(route.pattern)][lower(name(route.method))] = operation(route);
  return schemas::dump(document);
}

}  // namespace millrace::api
