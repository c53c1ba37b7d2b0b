#include "api/openapi/openapi.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/routing/route.h"
#include "platform/base/result.h"
#include "schemas/json/json_body.h"
#include "schemas/media/document_type.h"

namespace millrace::api {
namespace {

using nlohmann::json;

// "{model...}" → "{model}": OpenAPI cannot describe a parameter that spans several path segments.
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
    // One parameter for each member, in a form that OpenAPI cannot describe.
    const bool has_members = field.type == schemas::FieldType::kAnyObject;
    if (has_members) schema = {{"type", "string"}};
    parameters.push_back({{"name", std::string(field.name) + (has_members ? ".KEY" : "")},
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
    case Access::kKey:
      break;
  }
  return keys;
}

std::string scope_note(const Route& route) {
  switch (route.access) {
    case Access::kOpen:
      return "Open: needs no key.";
    case Access::kMetrics:
      return "Scope `metrics` or `admin`; open if `metrics.open` is set.";
    case Access::kKey:
      return "Any valid key.";
    case Access::kScope:
      break;
  }
  const std::string scope = "`" + std::string(schemas::name(route.scope)) + "`";
  if (!route.needs_kind_scope) return "Scope " + scope + ".";
  return "Scopes: " + scope + ", and that of the job's kind: `ocr`, `chat`, `audio` or `exec:read`.";
}

std::string description(const Route& route) {
  const std::string_view about = route.operation.about;
  return std::string(about).append(about.empty() ? "" : "\n\n").append(scope_note(route));
}

json request_content(const Route& route) {
  constexpr const char* kForm = "multipart/form-data";
  const json schema = {{"schema", openapi_ref("schemas", route.operation.body)}};
  if (is_form(route.body)) return {{kForm, schema}};
  if (route.body == BodyKind::kFile) return {{"application/octet-stream", json::object()}};
  json out = {{"application/json", schema}};
  if (route.body != BodyKind::kDocument) return out;
  out[kForm] = {{"schema", openapi_ref("schemas", route.operation.form)}};
  for (const std::string_view type : schemas::document_mimes()) out[std::string(type)] = json::object();
  return out;
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
    out["requestBody"] = {{"required", route.body != BodyKind::kOptional},
                          {"content", request_content(route)}};
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
                                         {{"name", "stored files"}},
                                         {{"name", "batches"}},
                                         {{"name", "machines"}},
                                         {{"name", "executions"}},
                                         {{"name", "files"}},
                                         {{"name", "artifacts"}},
                                         {{"name", "ssh"}},
                                         {{"name", "jobs"}},
                                         {{"name", "webhooks"}},
                                         {{"name", "usage"}},
                                         {{"name", "admin"}}})},
                   {"components", openapi_components()}};
  json& paths = document["paths"] = json::object();
  for (const Route& route : routes())
    paths[path_template(route.pattern)][lower(name(route.method))] = operation(route);
  return schemas::dump(document);
}

namespace {

using nlohmann::json;

constexpr std::array kEveryStatus{400, 401, 403, 404, 405, 408, 413, 415,
                                  417, 421, 422, 429, 431, 500, 501, 503};
// Sent before the request counts against the key's rate limit, or independent of it.
constexpr std::array kUncounted{401, 403, 405, 408, 417, 421, 431, 501};
// Sent before the job is known.
constexpr std::array kBeforeJob{400, 401, 403, 405, 408, 415, 417, 421, 429, 431, 501};

// Machine endpoints use MachineError for these statuses and problem+json for the others.
constexpr std::array kMachineShaped{401, 403, 409, 429, 503};

template <std::size_t N>
bool is_in(const std::array<int, N>& statuses, int status) {
  return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
}

struct Header {
  std::string_view name;
  std::string_view component;  // under components/headers
};
constexpr Header kRequestId{"x-request-id", "RequestId"};
constexpr Header kJob{"x-millrace-job", "Job"};
constexpr Header kReplayed{"idempotent-replayed", "Replayed"};
constexpr Header kDropped{"x-millrace-dropped-params", "DroppedParams"};
constexpr Header kShouldRetry{"x-should-retry", "ShouldRetry"};
constexpr Header kRetryAfter{"retry-after", "RetryAfter"};
constexpr Header kRetryAfterMs{"retry-after-ms", "RetryAfterMs"};
constexpr Header kAllow{"allow", "Allow"};
constexpr Header kAcceptEncoding{"accept-encoding", "AcceptEncoding"};
constexpr Header kAuthenticate{"www-authenticate", "WwwAuthenticate"};
constexpr std::array kRate{Header{"x-ratelimit-limit-requests", "RateLimit"},
                           Header{"x-ratelimit-remaining-requests", "RateRemaining"},
                           Header{"x-ratelimit-reset-requests", "RateReset"}};

void add(json& headers, const Header& header) {
  headers[std::string(header.name)] = openapi_ref("headers", header.component);
}

// Headers of single responses (ReplySpec::headers).
constexpr std::array kNamed{Header{"location", "Location"},
                            Header{"preference-applied", "PreferenceApplied"},
                            Header{"x-millrace-model", "AnsweredBy"},
                            Header{"x-millrace-attempts", "Attempts"},
                            Header{"x-millrace-dropped-params", "DroppedParams"},
                            Header{"x-millrace-cost-usd", "CostUsd"},
                            Header{"x-accel-buffering", "AccelBuffering"},
                            Header{"retry-after-ms", "RetryAfterMs"},
                            Header{"etag", "Etag"},
                            Header{"accept-ranges", "AcceptRanges"},
                            Header{"cache-control", "CacheControl"},
                            Header{"content-disposition", "ContentDisposition"},
                            Header{"content-range", "ContentRange"},
                            Header{"content-security-policy", "ContentSecurityPolicy"},
                            Header{"cross-origin-opener-policy", "OpenerPolicy"},
                            Header{"referrer-policy", "ReferrerPolicy"},
                            Header{"vary", "Vary"},
                            Header{"x-content-type-options", "ContentTypeOptions"}};

void add_named(json& headers, std::string_view names) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    const auto* found = std::find_if(kNamed.begin(), kNamed.end(),
                                     [&](const Header& h) { return h.name == names.substr(0, end); });
    if (found != kNamed.end()) add(headers, *found);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

void add_job_headers(json& headers, JobReplies job, int status) {
  if (job == JobReplies::kNone || is_in(kBeforeJob, status)) return;
  if (job == JobReplies::kReplayed) {
    if (status == 200) add(headers, kReplayed);
    return;
  }
  add(headers, kJob);
  if (job == JobReplies::kSubmitted || job == JobReplies::kKeyed) add(headers, kReplayed);
  if (job == JobReplies::kSubmitted) add(headers, kDropped);
}

// x-should-retry marks errors that a retry cannot resolve: 4xx other than 408, an exhausted quota, a
// permanent error of a provider, and stored failures of jobs.
bool may_be_lasting(JobReplies job, int status) {
  if (status == 408 || status == 503 || status < 400) return false;
  if (status < 500 || status == 501 || status == 502) return true;
  return job == JobReplies::kResult || job == JobReplies::kSubmitted;
}

json headers_of(const Route& route, int status) {
  json headers = json::object();
  add(headers, kRequestId);
  add_job_headers(headers, route.operation.job, status);
  if (serves_other_clients(route) && status < 400) add(headers, kDropped);
  if (may_be_lasting(route.operation.job, status)) add(headers, kShouldRetry);
  if (route.access != Access::kOpen && !is_in(kUncounted, status)) {
    for (const Header& each : kRate) add(headers, each);
  }
  if (status == 401) add(headers, kAuthenticate);
  if (status == 405) add(headers, kAllow);
  if (status == 415) add(headers, kAcceptEncoding);
  if (status == 429 || status == 503) {
    add(headers, kRetryAfter);
    add(headers, kRetryAfterMs);
  }
  return headers;
}

// The content type and schema of an error with this status at this path (schemas/error_body.h).
std::pair<std::string_view, std::string_view> error_shape(const Route& route, int status) {
  if (!route.pattern.starts_with("/v1/machines"))
    return {"application/json", status == 422 ? "ValidationError" : "Error"};
  if (is_in(kMachineShaped, status)) return {"application/json", "MachineError"};
  return {"application/problem+json", "Problem"};
}

json error_reply_object(const Route& route, int status) {
  json out = {{"description", base::http_phrase(status)}, {"headers", headers_of(route, status)}};
  const auto [content_type, schema] = error_shape(route, status);
  out["content"][std::string(content_type)]["schema"] = openapi_ref("schemas", schema);
  return out;
}

// Several rows with one status become several contents of one response.
void add_reply(json& replies, const Route& route, const ReplySpec& facts) {
  json& reply = replies[std::to_string(facts.status)];
  const bool first = !reply.contains("description");
  const std::string before = first ? "" : reply["description"].get<std::string>() + ". ";
  reply["description"] = before + std::string(facts.text);
  if (!reply.contains("headers")) reply["headers"] = headers_of(route, facts.status);
  add_named(reply["headers"], facts.headers);
  if (facts.content_type.empty()) return;
  json& content = reply["content"][std::string(facts.content_type)];
  content = json::object();
  if (!facts.schema.empty()) content["schema"] = openapi_ref("schemas", facts.schema);
  if (!facts.example.empty()) content["example"] = json::parse(facts.example);
}

}  // namespace

json openapi_ref(std::string_view kind, std::string_view name) {
  return {{"$ref", "#/components/" + std::string(kind) + "/" + std::string(name)}};
}

json openapi_replies(const Route& route) {
  json out = json::object();
  for (int status : kEveryStatus) out[std::to_string(status)] = error_reply_object(route, status);
  if (route.operation.state) out["409"] = error_reply_object(route, 409);
  for (const ReplySpec& facts : route.operation.replies) {
    if (facts.status == 503) out["503"].erase("description");
  }
  for (const ReplySpec& facts : route.operation.replies) add_reply(out, route, facts);
  return out;
}

}  // namespace millrace::api
