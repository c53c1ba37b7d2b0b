#include <simdjson.h>

#include "schemas/batches/batch.h"
#include "schemas/json/json.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

namespace lines = simdjson::ondemand;

// A parser keeps its memory from line to line.
lines::parser& line_parser() {
  thread_local lines::parser parser;
  return parser;
}

// The members of a line, as far as it has them.
struct LineMembers {
  std::optional<std::string> custom_id, method, url;
  std::optional<std::string> body;  // an object, as sent
  bool has_other_body = false;      // it has one that is no object
  bool is_stream = false, is_not_deferred = false;
};

// Another type counts as absent.
void read_line_text(lines::value& value, std::optional<std::string>& out) {
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) out.emplace(text);
}

// False: it is not valid JSON.
bool read_line_body(lines::value& value, LineMembers& out) {
  lines::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) {
    out.has_other_body = true;
    return true;
  }
  for (auto each : object) {
    lines::field field;
    if (std::move(each).get(field) != simdjson::SUCCESS) return false;
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    if (key != "stream" && key != "deferred") continue;
    bool flag = false;
    if (field.value().get_bool().get(flag) != simdjson::SUCCESS) continue;
    (key == "stream" ? out.is_stream : out.is_not_deferred) = flag == (key == "stream");
  }
  if (object.reset().error() != simdjson::SUCCESS) return false;
  std::string_view raw;
  if (object.raw_json().get(raw) != simdjson::SUCCESS) return false;
  out.body.emplace(raw);
  return true;
}

bool read_line_members(const std::string& text, LineMembers& out) {
  lines::document document;
  lines::object object;
  if (line_parser().iterate(text.data(), text.size(), text.capacity()).get(document) != simdjson::SUCCESS)
    return false;
  if (document.get_object().get(object) != simdjson::SUCCESS) return false;
  for (auto each : object) {
    lines::field field;
    if (std::move(each).get(field) != simdjson::SUCCESS) return false;
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    lines::value value = field.value();
    if (key == "custom_id") read_line_text(value, out.custom_id);
    if (key == "method") read_line_text(value, out.method);
    if (key == "url") read_line_text(value, out.url);
    if (key == "body" && !read_line_body(value, out)) return false;
  }
  const char* rest = nullptr;
  return document.current_location().get(rest) != simdjson::SUCCESS;  // nothing follows
}

BatchError line_error(std::int64_t number, std::string code, std::string message, std::string param = {}) {
  return {.code = std::move(code), .message = std::move(message), .param = std::move(param), .line = number};
}

BatchError missing_member(std::int64_t number, const std::string& name, const std::string& shape) {
  return line_error(number, "missing_required_parameter", "The line has no `" + name + "`, which is " + shape,
                    name);
}

std::optional<BatchError> check_request_line(const LineMembers& line, BatchShape shape,
                                             std::string_view endpoint, std::int64_t number) {
  const bool needs_all = shape == BatchShape::kOpenAi;
  if (needs_all && !line.method) return missing_member(number, "method", "the text `POST`");
  if (line.method && *line.method != "POST")
    return line_error(number, "invalid_value", "`method` must be `POST`", "method");
  if (needs_all && !line.url)
    return missing_member(number, "url", "the text `" + std::string(endpoint) + "`");
  if (line.url && *line.url != endpoint)
    return line_error(number, "mismatched_url",
                      "`url` must be the batch's endpoint, `" + std::string(endpoint) + "`", "url");
  return std::nullopt;
}

std::int64_t number_in(const Json& object, std::string_view name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number_integer() && at->get<std::int64_t>() > 0
             ? at->get<std::int64_t>()
             : 0;
}

// The first of these members that is more than 0, in the object or in one that it has.
std::int64_t first_number(const Json& object, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const std::int64_t number = number_in(object, name); number > 0) return number;
  }
  return 0;
}

const Json& member_object(const Json& object, std::string_view name, std::string_view other) {
  static const Json kNone = Json::object();
  for (const std::string_view each : {name, other}) {
    const auto at = object.find(each);
    if (at != object.end() && at->is_object()) return *at;
  }
  return kNone;
}

std::string line_id(const base::Uuid& batch, std::int64_t line) {
  return "batch_req_" + batch.str() + "_" + std::to_string(line);
}

}  // namespace

tl::expected<BatchLine, BatchError> parse_batch_line(std::string& text, BatchShape shape,
                                                     std::string_view endpoint, std::int64_t number) {
  LineMembers line;
  if (text.capacity() < text.size() + simdjson::SIMDJSON_PADDING)
    text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  if (!read_line_members(text, line))
    return tl::make_unexpected(line_error(number, "invalid_json", "The line is not a JSON object in UTF-8"));
  if (!line.custom_id || line.custom_id->empty())
    return tl::make_unexpected(missing_member(number, "custom_id", "a text that no other line has"));
  if (line.custom_id->size() > kBatchCustomIdMax)
    return tl::make_unexpected(
        line_error(number, "invalid_value",
                   "`custom_id` has more than " + std::to_string(kBatchCustomIdMax) + " bytes", "custom_id"));
  if (auto error = check_request_line(line, shape, endpoint, number))
    return tl::make_unexpected(*std::move(error));
  if (!line.body) return tl::make_unexpected(missing_member(number, "body", "an object, the request"));
  if (line.is_stream)
    return tl::make_unexpected(line_error(
        number, "unsupported_parameter", "`stream` must not be true: a batch has no streams", "body.stream"));
  if (line.is_not_deferred)
    return tl::make_unexpected(line_error(number, "unsupported_parameter",
                                          "`deferred` must not be false: a batch answers later",
                                          "body.deferred"));
  return BatchLine{.custom_id = *std::move(line.custom_id), .body = *std::move(line.body)};
}

std::string batch_line_request(std::string body, std::string_view model, bool is_deferred) {
  bool has_model = model.empty(), has_deferred = !is_deferred, is_empty = true;
  body.reserve(body.size() + simdjson::SIMDJSON_PADDING);
  lines::document document;
  lines::object object;
  const bool is_object =
      line_parser().iterate(body.data(), body.size(), body.capacity()).get(document) == simdjson::SUCCESS &&
      document.get_object().get(object) == simdjson::SUCCESS;
  if (!is_object) return body;
  for (auto each : object) {
    lines::field field;
    std::string_view key;
    if (std::move(each).get(field) != simdjson::SUCCESS) return body;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return body;
    is_empty = false;
    has_model = has_model || key == "model";
    has_deferred = has_deferred || key == "deferred";
  }
  JsonObject added;
  if (!has_model) added.member("model", model);
  if (!has_deferred) added.flag("deferred", true);
  std::string out = added.finish();
  if (out == "{}") return body;
  out.back() = is_empty ? ' ' : ',';
  return out.append(body, body.find('{') + 1);
}

std::string batch_output_line(const base::Uuid& batch, std::int64_t line, std::string_view custom_id,
                              const BatchReply& reply) {
  JsonObject response(reply.body.size() + 128);
  response.number("status_code", reply.status)
      .member("request_id", reply.request_id)
      .raw("body", reply.body.empty() ? "{}" : reply.body);
  return JsonObject(reply.body.size() + 512)
             .member("id", line_id(batch, line))
             .member("custom_id", custom_id)
             .raw("response", response.finish())
             .raw("error", "null")
             .finish() +
         "\n";
}

std::string batch_error_line(const base::Uuid& batch, std::int64_t line, std::string_view custom_id,
                             std::string_view error_code, std::string_view message) {
  return JsonObject()
             .member("id", line_id(batch, line))
             .member("custom_id", custom_id)
             .raw("response", "null")
             .raw("error", JsonObject().member("code", error_code).member("message", message).finish())
             .finish() +
         "\n";
}

BatchUsage usage_of_reply(std::string_view body) {
  BatchUsage out;
  if (body.find("\"usage\"") == std::string_view::npos) return out;
  const Json reply = Json::parse(body, nullptr, false);
  if (!reply.is_object()) return out;
  const Json& usage = member_object(reply, "usage", "usage");
  const Json& input = member_object(usage, "prompt_tokens_details", "input_tokens_details");
  const Json& output = member_object(usage, "completion_tokens_details", "output_tokens_details");
  out.input_tokens = first_number(usage, {"prompt_tokens", "input_tokens"});
  out.output_tokens = first_number(usage, {"completion_tokens", "output_tokens"});
  out.cached_tokens = number_in(input, "cached_tokens");
  out.reasoning_tokens = number_in(output, "reasoning_tokens");
  return out;
}

}  // namespace millrace::schemas
