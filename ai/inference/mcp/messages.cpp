#include "ai/inference/mcp/messages.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>

#include "ai/providers/json_access.h"
#include "ai/providers/json_schema.h"
#include "ai/providers/upstream_error.h"
#include "ai/providers/wire_text.h"
#include "platform/base/base64.h"
#include "schemas/json/broken_json.h"
#include "schemas/json/json_body.h"
#include "schemas/media/media_type.h"

// First the messages, then the results of tools, then the lists of tools.
namespace millrace::inference {
namespace {

using schemas::Json;

constexpr std::string_view kSentinel = "=?base64?", kSentinelEnd = "?=";
constexpr std::size_t kSupportedMax = 16;  // versions that are read

Json client_info() { return {{"name", "millrace"}, {"version", MILLRACE_VERSION}}; }

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int code_of(const Json& error) {
  const auto found = error.find("code");
  if (found == error.end() || !found->is_number_integer()) return 0;
  const auto code = found->get<std::int64_t>();
  const bool fits = code >= std::numeric_limits<int>::min() && code <= std::numeric_limits<int>::max();
  return fits ? static_cast<int>(code) : 0;
}

std::vector<std::string> supported_by(const Json& error) {
  std::vector<std::string> versions;
  const auto data = error.find("data");
  if (data == error.end() || !data->is_object()) return versions;
  const auto found = data->find("supported");
  if (found == data->end() || !found->is_array()) return versions;
  for (const Json& version : *found) {
    if (version.is_string() && versions.size() < kSupportedMax) versions.push_back(version);
  }
  return versions;
}

void take_error(const Json& error, McpMessage& message) {
  message.kind = McpMessage::Kind::kError;
  message.code = code_of(error);
  message.error_message = providers::upstream_text(text_of(error, "message"));
  message.supported = supported_by(error);
}

std::string with_envelope(Json body) {
  body["jsonrpc"] = "2.0";
  return schemas::dump(body);
}

bool is_plain(std::string_view text) {
  if (text.starts_with(kSentinel) && text.ends_with(kSentinelEnd)) return false;
  if (text.starts_with(' ') || text.ends_with(' ')) return false;
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
}

}  // namespace

bool is_legacy_mcp(std::string_view version) {
  return std::ranges::find(kMcpLegacy, version) != kMcpLegacy.end();
}

bool McpMessage::is_modern_error() const {
  return kind == Kind::kError &&
         (code == kMcpHeaderMismatch || code == kMcpMissingCapability || code == kMcpUnsupportedVersion);
}

base::Result<McpMessage> read_mcp_message(std::string text) {
  if (!schemas::is_valid_utf8_json(text)) text = schemas::repair_utf8_json(text);
  text.reserve(text.size() + schemas::kJsonPadding);
  base::Result<schemas::JsonBody> read =
      schemas::read_json(text, schemas::kJsonValuesMax, schemas::Numbers::kSpelled);
  if (!read) return mcp_fault("sent an invalid JSON-RPC message: " + read.error().message);
  Json body = schemas::whole(*std::move(read));
  McpMessage message;
  message.method = text_of(body, "method");
  if (const auto id = body.find("id"); id != body.end() && !id->is_structured()) message.id = *id;
  const auto result = body.find("result"), error = body.find("error");
  if (!message.method.empty()) {
    message.kind = message.id.is_null() ? McpMessage::Kind::kNotification : McpMessage::Kind::kRequest;
  } else if (error != body.end() && error->is_object()) {
    take_error(*error, message);
  } else if (result != body.end() && result->is_object()) {
    message.kind = McpMessage::Kind::kResult;
    message.result = std::move(*result);
  } else {
    return mcp_fault("sent an invalid JSON-RPC message");
  }
  return message;
}

std::string mcp_request(std::int64_t id, const std::string& method, Json params) {
  return with_envelope({{"id", id}, {"method", method}, {"params", std::move(params)}});
}

std::string mcp_notification(const std::string& method) { return with_envelope({{"method", method}}); }

std::string mcp_answer(const McpMessage& request) {
  if (request.method == "ping") return with_envelope({{"id", request.id}, {"result", Json::object()}});
  return with_envelope(
      {{"id", request.id}, {"error", {{"code", -32601}, {"message", "this client only accepts pings"}}}});
}

Json mcp_meta() {
  return {{"io.modelcontextprotocol/protocolVersion", kMcpModern},
          {"io.modelcontextprotocol/clientInfo", client_info()},
          {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
}

Json mcp_initialize_params(std::string_view version) {
  return {{"protocolVersion", version}, {"capabilities", Json::object()}, {"clientInfo", client_info()}};
}

std::string mcp_header_value(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  return std::string(kSentinel).append(base::base64_encode(text)).append(kSentinelEnd);
}

base::Error mcp_fault(const std::string& what) {
  return base::error(base::Code::kUpstream, "the server " + what);
}

namespace {

std::string_view text_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? std::string_view(found->get_ref<const std::string&>())
                                                     : std::string_view();
}

// "[image: image/png, 12 bytes]": stands for content that is not text.
std::string described(std::string_view what, std::string_view type, std::string_view base64) {
  std::string out = "[" + std::string(what);
  if (!type.empty()) out.append(": ").append(type);
  const std::size_t padding = base64.ends_with("==") ? 2 : base64.ends_with('=') ? 1 : 0;
  const std::size_t bytes = base64.size() / 4 * 3 - std::min(padding, base64.size() / 4 * 3);
  return out.append(", ").append(std::to_string(bytes)).append(" bytes]");
}

std::string resource_text(const Json& block) {
  const auto found = block.find("resource");
  if (found == block.end() || !found->is_object()) return "[resource]";
  if (const auto text = found->find("text"); text != found->end() && text->is_string()) return *text;
  return described("resource " + std::string(text_at(*found, "uri")), text_at(*found, "mimeType"),
                   text_at(*found, "blob"));
}

std::string link_text(const Json& block) {
  std::string out = "[resource " + std::string(text_at(block, "uri"));
  for (const char* name : {"name", "description"}) {
    if (const auto text = text_at(block, name); !text.empty()) out.append(": ").append(text);
  }
  return out.append("]");
}

std::string block_text(const Json& block) {
  if (!block.is_object()) return "[content without a type]";
  const std::string_view type = text_at(block, "type");
  if (type == "text") return std::string(text_at(block, "text"));
  if (type == "image" || type == "audio")
    return described(type, text_at(block, "mimeType"), text_at(block, "data"));
  if (type == "resource") return resource_text(block);
  if (type == "resource_link") return link_text(block);
  return "[content of type " + std::string(type) + "]";
}

// The data URI of an image; empty: the block is none.
std::string picture_of(const Json& block) {
  if (!block.is_object()) return {};
  const std::string_view kind = text_at(block, "type");
  const auto resource = block.find("resource");
  std::string_view base64;
  if (kind == "image") base64 = text_at(block, "data");
  if (kind == "resource" && resource != block.end() && resource->is_object())
    base64 = text_at(*resource, "blob");
  const std::string_view type = schemas::detect_base64_media_type(base64);
  if (!type.starts_with("image/") || !base::is_base64(base64)) return {};
  return std::string("data:").append(type).append(";base64,").append(base64);
}

// Servers repeat their structured content as text, for clients that only support text.
bool repeats(std::string_view text, const Json& structured) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (structured.is_object() && text[first] != '{')) return false;
  return providers::parse_wire(text) == structured;
}

void cut(std::string& text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return;
  const std::size_t all = text.size();
  const std::string_view kept = providers::cut_text(text, bytes_max);
  text.resize(kept.size());
  text.append("\n[cut here: the first ").append(std::to_string(kept.size()));
  text.append(" of ").append(std::to_string(all)).append(" bytes]");
}

void append_line(std::string& out, std::string_view line) {
  if (!out.empty()) out += '\n';
  out.append(line);
}

}  // namespace

base::Result<McpOutcome> read_mcp_outcome(const Json& result, std::size_t bytes_max) {
  const std::string_view kind = text_at(result, "resultType");
  if (kind == "input_required") return mcp_fault("requires input from a person (input_required)");
  if (!kind.empty() && kind != "complete") return mcp_fault("returned a result of an unknown type");
  McpOutcome outcome;
  const auto is_error = result.find("isError");
  outcome.is_error = is_error != result.end() && *is_error == true;
  const auto structured = result.find("structuredContent"), content = result.find("content");
  bool shown = structured == result.end() || structured->is_null();
  if (content != result.end() && content->is_array()) {
    for (const Json& block : *content) {
      const std::string text = block_text(block);
      shown = shown || repeats(text, *structured);
      append_line(outcome.text, text);
      if (outcome.pictures.size() == kMcpPicturesMax) continue;
      if (std::string picture = picture_of(block); !picture.empty())
        outcome.pictures.push_back(std::move(picture));
    }
  }
  if (!shown) append_line(outcome.text, schemas::dump(*structured));
  cut(outcome.text, bytes_max);
  return outcome;
}

namespace {

constexpr const char* kAnnotation = "x-mcp-header";
// Keywords whose values are data, not schemas.
constexpr std::array<std::string_view, 4> kData{"const", "default", "enum", "examples"};

// Counts the levels of objects and lists.
bool is_deeper(const Json& value, int depth_max) {
  if (!value.is_structured()) return false;
  if (depth_max == 0) return true;
  return std::any_of(value.begin(), value.end(),
                     [&](const Json& each) { return is_deeper(each, depth_max - 1); });
}

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kMarks.find(c) != std::string_view::npos;
  });
}

std::string in_lower_case(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

// Finds the annotations of a schema. A tool with an invalid annotation must not be called.
class Annotations {
 public:
  // nullopt: an annotation breaks the rules.
  std::optional<std::vector<McpParam>> of(const Json& schema) {
    if (!root(schema)) return std::nullopt;
    return std::move(params_);
  }

 private:
  bool root(const Json& schema) { return !schema.contains(kAnnotation) && inner(schema); }

  // A schema that is reached through `properties` only.
  bool property(const Json& schema) {
    if (!schema.is_object()) return true;
    const auto found = schema.find(kAnnotation);
    return (found == schema.end() || take(*found, schema)) && inner(schema);
  }

  bool inner(const Json& schema) {
    for (const auto& [keyword, value] : schema.items()) {
      if (keyword == "properties" && value.is_object()) {
        if (!properties(value)) return false;
      } else if (!is_data(keyword) && has_stray(value)) {
        return false;
      }
    }
    return true;
  }

  bool properties(const Json& named) {
    for (const auto& [name, schema] : named.items()) {
      path_.push_back(name);
      if (!property(schema)) return false;
      path_.pop_back();
    }
    return true;
  }

  bool take(const Json& annotation, const Json& schema) {
    constexpr std::array<std::string_view, 4> kTypes{"string", "integer", "boolean", "number"};
    const auto type = schema.find("type");
    if (type == schema.end() || !type->is_string()) return false;
    if (std::ranges::find(kTypes, type->get_ref<const std::string&>()) == kTypes.end()) return false;
    if (!annotation.is_string() || !is_token(annotation.get_ref<const std::string&>())) return false;
    McpParam param{path_, annotation.get<std::string>()};
    if (!headers_.insert(in_lower_case(param.name)).second) return false;
    params_.push_back(std::move(param));
    return true;
  }

  static bool is_data(std::string_view keyword) { return std::ranges::find(kData, keyword) != kData.end(); }

  // True if there is an annotation where none is allowed: in lists, alternatives, conditions, definitions.
  static bool has_stray(const Json& value) {
    if (value.is_object()) {
      const auto found = value.find(kAnnotation);
      if (found != value.end() && found->is_string()) return true;
    }
    if (!value.is_structured()) return false;
    return std::any_of(value.begin(), value.end(), has_stray);
  }

  std::vector<std::string> path_;
  std::vector<McpParam> params_;
  std::set<std::string> headers_;  // their names in lower case
};

bool is_fit_name(const Json& name) {
  if (!name.is_string()) return false;
  const auto& text = name.get_ref<const std::string&>();
  return !text.empty() && text.size() <= kMcpToolNameMax &&
         std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// Adds a tool to the page, or returns why it is left out.
std::string take_tool(const Json& listed, int schema_depth_max, McpToolPage& page) {
  if (!listed.is_object()) return "it is not an object";
  if (!is_fit_name(listed.value("name", Json())))
    return "its name is empty, has control characters, or has more than " + std::to_string(kMcpToolNameMax) +
           " bytes";
  Json schema = listed.value("inputSchema", Json());
  if (is_deeper(schema, schema_depth_max))
    return "its schema has more than " + std::to_string(schema_depth_max) + " levels";
  std::optional<std::vector<McpParam>> params = Annotations().of(schema);  // of what is left out, too
  if (const auto reason = providers::complete_object_schema(schema); !reason.empty())
    return std::string(reason);
  if (!params) return "its schema breaks the rules of " + std::string(kAnnotation);
  McpListedTool& out = page.tools.emplace_back();
  out.tool.name = listed["name"];
  out.tool.description = text_at(listed, "description");
  out.tool.input_schema = schemas::dump(schema);
  out.params = *std::move(params);
  return {};
}

// Longer lifetimes are cut to one day.
std::chrono::milliseconds ttl(std::int64_t ms) {
  return std::chrono::milliseconds(std::clamp<std::int64_t>(ms, 0, 86'400'000));
}

const Json* at_path(const Json& arguments, const std::vector<std::string>& path) {
  const Json* value = &arguments;
  for (const std::string& name : path) {
    if (!value->is_object()) return nullptr;
    const auto found = value->find(name);
    if (found == value->end()) return nullptr;
    value = &*found;
  }
  return value->is_null() || value->is_structured() ? nullptr : value;
}

}  // namespace

McpLeftOutTool mcp_left_out(std::string_view name, std::string reason) {
  constexpr std::size_t kShownBytes = 64;
  return {providers::upstream_text(providers::cut_text(name, kShownBytes)), std::move(reason)};
}

base::Result<McpToolPage> read_mcp_tools(const Json& result, int schema_depth_max) {
  const auto tools = result.find("tools");
  if (tools == result.end() || !tools->is_array()) return mcp_fault("answered tools/list without a list");
  McpToolPage page;
  for (const Json& listed : *tools) {
    std::string reason = take_tool(listed, schema_depth_max, page);
    if (reason.empty()) continue;
    const std::string_view name = listed.is_object() ? text_at(listed, "name") : std::string_view();
    page.left_out.push_back(mcp_left_out(name, std::move(reason)));
  }
  const auto fresh = result.find("ttlMs");
  if (fresh != result.end() && fresh->is_number_integer()) page.ttl = ttl(fresh->get<std::int64_t>());
  const auto cursor = result.find("nextCursor");
  if (cursor != result.end() && cursor->is_string()) page.cursor = *cursor;
  return page;
}

std::vector<std::pair<std::string, std::string>> mcp_param_headers(const std::vector<McpParam>& params,
                                                                   const Json& arguments) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const McpParam& param : params) {
    const Json* value = at_path(arguments, param.path);
    if (value == nullptr) continue;
    const std::string text = value->is_string() ? value->get<std::string>() : schemas::dump(*value);
    headers.emplace_back("Mcp-Param-" + param.name, mcp_header_value(text));
  }
  return headers;
}

}  // namespace millrace::inference
