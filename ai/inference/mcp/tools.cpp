#include "ai/inference/mcp/tools.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include "ai/inference/mcp/wire.h"
#include "schemas/json/json_body.h"

namespace millrace::inference {
namespace {

using nlohmann::json;

constexpr const char* kAnnotation = "x-mcp-header";
// Keywords whose values are data, not schemas.
constexpr std::array<std::string_view, 4> kData{"const", "default", "enum", "examples"};

// Counts the levels of objects and lists.
bool is_deeper(const json& value, int depth_max) {
  if (!value.is_structured()) return false;
  if (depth_max == 0) return true;
  return std::any_of(value.begin(), value.end(),
                     [&](const json& each) { return is_deeper(each, depth_max - 1); });
}

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kMarks.find(c) != std::string_view::npos;
  });
}

bool same_header(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// Finds the annotations of a schema. A tool with an invalid annotation must not be called.
class Annotations {
 public:
  // nullopt: an annotation breaks the rules.
  std::optional<std::vector<McpParam>> of(const json& schema) {
    if (!root(schema)) return std::nullopt;
    return std::move(params_);
  }

 private:
  bool root(const json& schema) { return !schema.contains(kAnnotation) && inner(schema); }

  // A schema that is reached through `properties` only.
  bool property(const json& schema) {
    if (!schema.is_object()) return true;
    const auto found = schema.find(kAnnotation);
    return (found == schema.end() || take(*found, schema)) && inner(schema);
  }

  bool inner(const json& schema) {
    for (const auto& [keyword, value] : schema.items()) {
      if (keyword == "properties" && value.is_object()) {
        if (!properties(value)) return false;
      } else if (!is_data(keyword) && has_stray(value)) {
        return false;
      }
    }
    return true;
  }

  bool properties(const json& named) {
    for (const auto& [name, schema] : named.items()) {
      path_.push_back(name);
      if (!property(schema)) return false;
      path_.pop_back();
    }
    return true;
  }

  bool take(const json& annotation, const json& schema) {
    constexpr std::array<std::string_view, 4> kTypes{"string", "integer", "boolean", "number"};
    const auto type = schema.find("type");
    if (type == schema.end() || !type->is_string()) return false;
    if (std::ranges::find(kTypes, type->get_ref<const std::string&>()) == kTypes.end()) return false;
    if (!annotation.is_string() || !is_token(annotation.get_ref<const std::string&>())) return false;
    McpParam param{path_, annotation.get<std::string>()};
    const auto is_same = [&](const McpParam& other) { return same_header(other.name, param.name); };
    if (std::ranges::any_of(params_, is_same)) return false;
    params_.push_back(std::move(param));
    return true;
  }

  static bool is_data(std::string_view keyword) { return std::ranges::find(kData, keyword) != kData.end(); }

  // True if there is an annotation where none is allowed: in lists, alternatives, conditions, definitions.
  static bool has_stray(const json& value) {
    if (value.is_object()) {
      const auto found = value.find(kAnnotation);
      if (found != value.end() && found->is_string()) return true;
    }
    if (!value.is_structured()) return false;
    return std::any_of(value.begin(), value.end(), has_stray);
  }

  std::vector<std::string> path_;
  std::vector<McpParam> params_;
};

bool is_fit_name(const json& name) {
  if (!name.is_string()) return false;
  const auto& text = name.get_ref<const std::string&>();
  return !text.empty() && text.size() <= kMcpToolNameMax &&
         std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool is_fit_schema(const json& schema, int depth_max) {
  if (!schema.is_object() || is_deeper(schema, depth_max)) return false;
  const auto type = schema.find("type");
  return type != schema.end() && *type == "object";
}

std::optional<McpListedTool> read_tool(const json& listed, int schema_depth_max) {
  if (!listed.is_object()) return std::nullopt;
  const auto name = listed.find("name"), schema = listed.find("inputSchema");
  if (name == listed.end() || !is_fit_name(*name)) return std::nullopt;
  if (schema == listed.end() || !is_fit_schema(*schema, schema_depth_max)) return std::nullopt;
  std::optional<std::vector<McpParam>> params = Annotations().of(*schema);
  if (!params) return std::nullopt;
  McpListedTool out;
  out.tool.name = *name;
  const auto description = listed.find("description");
  if (description != listed.end() && description->is_string()) out.tool.description = *description;
  out.tool.input_schema = schemas::dump(*schema);
  out.params = *std::move(params);
  return out;
}

// Longer lifetimes are cut to one day.
std::chrono::milliseconds fresh_for(std::int64_t ms) {
  return std::chrono::milliseconds(std::clamp<std::int64_t>(ms, 0, 86'400'000));
}

const json* at_path(const json& arguments, const std::vector<std::string>& path) {
  const json* value = &arguments;
  for (const std::string& name : path) {
    if (!value->is_object()) return nullptr;
    const auto found = value->find(name);
    if (found == value->end()) return nullptr;
    value = &*found;
  }
  return value->is_null() || value->is_structured() ? nullptr : value;
}

}  // namespace

base::Result<McpToolPage> read_mcp_tools(const json& result, int schema_depth_max) {
  const auto tools = result.find("tools");
  if (tools == result.end() || !tools->is_array()) return mcp_fault("answered tools/list without a list");
  McpToolPage page;
  for (const json& listed : *tools) {
    if (auto tool = read_tool(listed, schema_depth_max)) page.tools.push_back(*std::move(tool));
  }
  const auto fresh = result.find("ttlMs");
  if (fresh != result.end() && fresh->is_number_integer())
    page.fresh_for = fresh_for(fresh->get<std::int64_t>());
  const auto cursor = result.find("nextCursor");
  if (cursor != result.end() && cursor->is_string()) page.cursor = *cursor;
  return page;
}

std::vector<std::pair<std::string, std::string>> mcp_param_headers(const std::vector<McpParam>& params,
                                                                   const json& arguments) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const McpParam& param : params) {
    const json* value = at_path(arguments, param.path);
    if (value == nullptr) continue;
    const std::string text = value->is_string() ? value->get<std::string>() : schemas::dump(*value);
    headers.emplace_back("Mcp-Param-" + param.name, mcp_header_value(text));
  }
  return headers;
}

}  // namespace millrace::inference
