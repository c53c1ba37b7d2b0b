#include "api/openapi.h"

#include <array>

#include "api/routes.h"
#include "schemas/json_body.h"

namespace millrace::api {
namespace {

using nlohmann::json;

constexpr std::array kEveryStatus{400, 401, 403, 404, 405, 408, 413, 415, 422, 429, 431, 500, 503};

json ref(std::string_view kind, std::string_view name) {
  return {{"$ref", "#/components/" + std::string(kind) + "/" + std::string(name)}};
}

json reply_headers() { return {{"x-request-id", ref("headers", "RequestId")}}; }

json error_reply_object(int status) {
  json out = {{"description", schemas::status_phrase(status)}, {"headers", reply_headers()}};
  const std::string_view schema = status == 422 ? "ValidationError" : "Error";
  out["content"]["application/json"]["schema"] = ref("schemas", schema);
  if (status == 401) out["headers"]["www-authenticate"] = ref("headers", "WwwAuthenticate");
  if (status == 405) out["headers"]["allow"] = ref("headers", "Allow");
  if (status == 429 || status == 503) {
    out["headers"]["retry-after"] = ref("headers", "RetryAfter");
    out["headers"]["retry-after-ms"] = ref("headers", "RetryAfterMs");
  }
  return out;
}

// Several rows of one status are several contents of one answer.
void add_reply(json& replies, const ReplyFacts& facts) {
  json& reply = replies[std::to_string(facts.status)];
  const bool first = !reply.contains("description");
  const std::string before = first ? "" : reply["description"].get<std::string>() + ". ";
  reply["description"] = before + std::string(facts.text);
  reply["headers"] = reply_headers();
  if (facts.content_type.empty()) return;
  json& content = reply["content"][std::string(facts.content_type)];
  content = json::object();
  if (!facts.schema.empty()) content["schema"] = ref("schemas", facts.schema);
  if (!facts.example.empty()) content["example"] = json::parse(facts.example);
}

json replies(const Operation& operation) {
  json out = json::object();
  for (int status : kEveryStatus) out[std::to_string(status)] = error_reply_object(status);
  if (operation.state) out["409"] = error_reply_object(409);
  for (const ReplyFacts& facts : operation.replies) {
    if (facts.status < 400) out.erase(std::to_string(facts.status));
    if (facts.status == 503) out["503"].erase("description");
  }
  for (const ReplyFacts& facts : operation.replies) add_reply(out, facts);
  return out;
}

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
  parameters.push_back(ref("parameters", "RequestId"));
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    parameters.push_back(ref("parameters", names.substr(0, end)));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

json security(const Route& route) {
  const json keys = json::array({{{"bearer", json::array()}}, {{"apiKey", json::array()}}});
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
      return "Open while the listener is bound to loopback, else scope `admin`.";
    case Access::kScope:
      break;
  }
  return "Scope `" + std::string(schemas::name(route.scope)) + "`.";
}

json operation(const Route& route) {
  const Operation& facts = route.operation;
  json out = {{"operationId", facts.id},     {"tags", json::array({facts.tag})},
              {"summary", facts.summary},    {"description", scope_note(route)},
              {"security", security(route)}, {"responses", replies(facts)}};
  json parameters = json::array();
  add_path_params(parameters, route.pattern);
  add_query_params(parameters, facts.query);
  add_header_params(parameters, facts.headers);
  out["parameters"] = std::move(parameters);
  if (!facts.body.empty()) {
    out["requestBody"] = {{"required", route.body == BodyKind::kJson},
                          {"content", {{"application/json", {{"schema", ref("schemas", facts.body)}}}}}};
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
  json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Millrace"},
        {"version", MILLRACE_VERSION},
        {"summary", "A self-hosted compute and AI gateway with a durable job queue"},
        {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
      {"servers", json::array({{{"url", "/"}}})},
      {"tags",
       json::array({{{"name", "service"}}, {{"name", "models"}}, {{"name", "ocr"}}, {{"name", "jobs"}}})},
      {"components", openapi_components()}};
  json& paths = document["paths"] = json::object();
  for (const Route& route : routes())
    paths[path_template(route.pattern)][lower(name(route.method))] = operation(route);
  return schemas::dump(document);
}

}  // namespace millrace::api
