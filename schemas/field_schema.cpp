#include "schemas/field.h"

namespace millrace::schemas {
namespace {

using nlohmann::json;

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

void add_bounds(json& out, const Field& field) {
  if (field.min != std::numeric_limits<std::int64_t>::min()) out["minimum"] = field.min;
  if (field.max != kUnbounded) out["maximum"] = field.max;
}

}  // namespace

json json_schema(const Field& field) {
  json out = json::object();
  switch (field.type) {
    case FieldType::kString:
      out["type"] = "string";
      if (field.min > 0) out["minLength"] = field.min;
      if (field.max != kUnbounded) out["maxLength"] = field.max;
      if (!field.choices.empty()) out["enum"] = field.choices;
      if (!field.format.empty()) out["format"] = field.format;
      break;
    case FieldType::kBool:
      out["type"] = "boolean";
      break;
    case FieldType::kInteger:
      out["type"] = "integer";
      add_bounds(out, field);
      break;
    case FieldType::kNumber:
      out["type"] = "number";
      add_bounds(out, field);
      break;
    case FieldType::kAnyObject:
      out["type"] = "object";
      break;
    case FieldType::kTime:
      out = {{"type", "string"}, {"format", "date-time"}};
      break;
    case FieldType::kObject:
      out = json_schema(field.members);
      break;
    case FieldType::kCustom:
      out = json::parse(field.schema);
      break;
  }
  if (!field.text.empty()) out["description"] = field.text;
  if (!field.default_json.empty()) out["default"] = json::parse(field.default_json);
  if (field.deprecated) out["deprecated"] = true;
  return out;
}

json json_schema(std::span<const Field> table) {
  json properties = json::object();
  json required = json::array();
  for (const Field& field : table) {
    json one = json_schema(field);
    if (!field.required && one.contains("type") && one["type"].is_string()) {
      one["type"] = json::array({one["type"], "null"});
      if (one.contains("enum")) one["enum"].push_back(nullptr);
    }
    properties[std::string(field.name)] = std::move(one);
    if (field.required) required.push_back(field.name);
  }
  json out = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) out["required"] = std::move(required);
  return out;
}

}  // namespace millrace::schemas
