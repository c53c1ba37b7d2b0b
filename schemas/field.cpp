#include "schemas/field.h"

#include <algorithm>
#include <charconv>

#include "platform/base/nearest.h"
#include "schemas/json/json_number.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

constexpr std::size_t kInputMax = 256;       // bytes of an invalid value that may be echoed
constexpr std::size_t kUnknownNameMax = 64;  // bytes of such a field's name

// The value in the form that may be echoed; empty: it is too long.
std::string short_input(const Json& value) {
  if (value.is_structured() || value.is_binary()) return {};
  std::string text = dump(value);
  if (text.size() > kInputMax) text.clear();
  return text;
}

std::string limit_ctx(std::string_view name, std::int64_t bound) { return dump(Json{{name, bound}}); }

std::string listed(std::span<const std::string_view> choices) {
  std::string out;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += i + 1 == choices.size() ? " or " : ", ";
    out.append("'").append(choices[i]).append("'");
  }
  return out;
}

// True: the value is outside the range of int64, so it exceeds every limit of a field.
bool is_vast(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() > std::uint64_t{INT64_MAX};
  constexpr double kBeyond = 9223372036854775808.0;
  return value.is_number_float() && (value.get<double>() >= kBeyond || value.get<double>() < -kBeyond);
}

bool has_max(const Field& field) { return field.max != std::numeric_limits<std::int64_t>::max(); }

}  // namespace

void FieldReader::read(std::span<const Field> table, const Json& value, void* object) {
  if (!value.is_object()) return problem("Input should be an object", "dict_type", &value);
  for (const Field& field : table) {
    const auto at = value.find(field.name);
    const bool absent = at == value.end() || at->is_null();
    if (absent && !field.required) continue;
    loc_.emplace_back(field.name);
    if (absent) {
      problem("Field required", "missing");
    } else {
      one(field, *at, object);
    }
    loc_.pop_back();
  }
  note_unknown(table, value);
}

void FieldReader::note_unknown(std::span<const Field> table, const Json& value) {
  for (const auto& [name, ignored] : value.items()) {
    const bool known =
        std::any_of(table.begin(), table.end(), [&](const Field& f) { return f.name == name; });
    if (known) continue;
    std::string dotted;
    for (std::size_t i = 1; i < loc_.size(); ++i) dotted.append(loc_[i]).append(".");
    unknown_.push_back(dotted + name);
  }
}

void FieldReader::one(const Field& field, const Json& value, void* object) {
  if (field.type == FieldType::kObject) return read(field.members, value, object);
  if (field.type == FieldType::kCustom) return field.custom(object, *this, value);
  if (check(field, value) && field.store != nullptr) field.store(object, *this, value);
}

bool FieldReader::check(const Field& field, const Json& value) {
  switch (field.type) {
    case FieldType::kString: {
      const auto text = body_.text(value);
      if (text) return check_string(field, *text, value);
      problem("Input should be a valid string", "string_type", &value);
      return false;
    }
    case FieldType::kBool:
      if (!value.is_boolean()) problem("Input should be true or false", "bool_type", &value);
      return value.is_boolean();
    case FieldType::kInteger:
      return check_integer(field, value);
    case FieldType::kNumber:
      return check_number(field, value);
    case FieldType::kAnyObject:
      return is_object(value);
    case FieldType::kTime: {
      base::WallTime ignored{};
      const auto text = body_.text(value);
      const bool good = text && base::parse_rfc3339(*text, ignored);
      if (!good)
        problem("Input should be a date and time as RFC 3339, such as 2025-01-31T08:00:00Z",
                "datetime_parsing", &value);
      return good;
    }
    case FieldType::kObject:
    case FieldType::kCustom:
      break;
  }
  return false;
}

bool FieldReader::check_string(const Field& field, std::string_view text, const Json& value) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (size < field.min) {
    problem("String should have at least " + std::to_string(field.min) + " characters", "string_too_short",
            &value, limit_ctx("min_length", field.min));
    return false;
  }
  if (size > field.max) {
    problem("String should have at most " + std::to_string(field.max) + " bytes", "string_too_long", &value,
            limit_ctx("max_length", field.max));
    return false;
  }
  const auto& choices = field.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end()) return true;
  problem("Input should be " + listed(choices), "literal_error", &value,
          dump(Json{{"expected", listed(choices)}}));
  return false;
}

bool FieldReader::check_integer(const Field& field, const Json& value) {
  const bool vast = is_vast(value);
  if (!value.is_number_integer() && !vast) {
    problem("Input should be a valid integer", "int_type", &value);
    return false;
  }
  const bool huge = vast && value.get<double>() > 0;
  const std::int64_t number = vast ? (huge ? INT64_MAX : INT64_MIN) : value.get<std::int64_t>();
  if (number < field.min) {
    problem("Input should be greater than or equal to " + std::to_string(field.min), "greater_than_equal",
            &value, limit_ctx("ge", field.min));
    return false;
  }
  if (huge || number > field.max) {
    problem("Input should be less than or equal to " + std::to_string(field.max), "less_than_equal", &value,
            limit_ctx("le", field.max));
    return false;
  }
  return true;
}

bool FieldReader::check_number(const Field& field, const Json& value) {
  if (!value.is_number()) {
    problem("Input should be a valid number", "float_type", &value);
    return false;
  }
  const double number = value.get<double>();
  if (number < static_cast<double>(field.min)) {
    problem("Input should be greater than or equal to " + std::to_string(field.min), "greater_than_equal",
            &value, limit_ctx("ge", field.min));
    return false;
  }
  if (has_max(field) && number > static_cast<double>(field.max)) {
    problem("Input should be less than or equal to " + std::to_string(field.max), "less_than_equal", &value,
            limit_ctx("le", field.max));
    return false;
  }
  return true;
}

bool FieldReader::is_list(const Json& value, std::size_t min, std::size_t max) {
  if (!value.is_array()) {
    problem("Input should be a valid list", "list_type", &value);
  } else if (value.size() < min) {
    problem("List should have at least " + std::to_string(min) + (min == 1 ? " item" : " items"), "too_short",
            nullptr, limit_ctx("min_length", static_cast<std::int64_t>(min)));
  } else if (value.size() > max) {
    problem("List should have at most " + std::to_string(max) + (max == 1 ? " item" : " items"), "too_long",
            nullptr, limit_ctx("max_length", static_cast<std::int64_t>(max)));
  } else {
    return true;
  }
  return false;
}

bool FieldReader::is_object(const Json& value, std::size_t max) {
  if (!value.is_object()) {
    problem("Input should be an object", "dict_type", &value);
  } else if (value.size() > max) {
    problem("Object should have at most " + std::to_string(max) + " members", "too_long", nullptr,
            limit_ctx("max_length", static_cast<std::int64_t>(max)));
  } else {
    return true;
  }
  return false;
}

void FieldReader::problem(std::string msg, std::string type, const Json* input, std::string ctx) {
  ++failures_;
  if (problems_.size() >= kProblemsMax) return;
  problems_.push_back({.loc = loc_,
                       .msg = std::move(msg),
                       .type = std::move(type),
                       .input = input == nullptr ? std::string() : short_input(*input),
                       .ctx = std::move(ctx)});
}

void FieldReader::refuse_unknown() {
  for (std::size_t i = 0; i < std::min(unknown_.size(), kUnknownNamed); ++i) {
    problems_.push_back({.loc = {loc_.front(), std::string(cut_text(unknown_[i], kUnknownNameMax))},
                         .msg = "There is no such field",
                         .type = "extra_forbidden",
                         .input = {},
                         .ctx = {}});
  }
}

void assign(FieldReader& reader, const Json& value, std::string& to) { to = *reader.text(value); }
void assign(FieldReader& reader, const Json& value, std::string_view& to) { to = *reader.text(value); }
void assign(FieldReader& reader, const Json& value, std::optional<std::string>& to) {
  to = *reader.text(value);
}
void assign(FieldReader&, const Json& value, bool& to) { to = value.get<bool>(); }
void assign(FieldReader&, const Json& value, int& to) { to = value.get<int>(); }
void assign(FieldReader&, const Json& value, std::int64_t& to) { to = value.get<std::int64_t>(); }
void assign(FieldReader&, const Json& value, std::optional<double>& to) { to = value.get<double>(); }
void assign(FieldReader& reader, const Json& value, std::optional<base::WallTime>& to) {
  base::WallTime time{};
  if (base::parse_rfc3339(*reader.text(value), time)) to = time;
}

namespace {

bool is_cased(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a | 0x20 : a) == b; });
}

// Converts the text of a query parameter or a form field to the JSON type of its row. Text that cannot be
// converted stays a string, so that the row's check reports it.
Json from_text(const Field& field, const std::string& text) {
  if (field.type == FieldType::kBool) {
    if (is_cased(text, "true") || text == "1") return true;
    if (is_cased(text, "false") || text == "0") return false;
  }
  if (field.type == FieldType::kNumber) {
    if (const auto number = json_number(text)) return *number;
  }
  if (field.type == FieldType::kInteger) {
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed == std::errc() && end == text.data() + text.size()) return number;
  }
  return text;
}

const Field* row_named(std::span<const Field> table, std::string_view name) {
  const auto row = std::find_if(table.begin(), table.end(), [&](const Field& f) { return f.name == name; });
  return row == table.end() ? nullptr : &*row;
}

}  // namespace

namespace {

// The row of type kAnyObject of which the name is a member, and the member's name.
std::pair<const Field*, std::string> member_named(std::span<const Field> table, const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return {nullptr, {}};
  const Field* row = row_named(table, std::string_view(name).substr(0, dot));
  return {row != nullptr && row->type == FieldType::kAnyObject ? row : nullptr, name.substr(dot + 1)};
}

}  // namespace

Problems read_query(std::span<const Field> table, const QueryPairs& pairs, void* object) {
  const bool needs_none = std::none_of(table.begin(), table.end(), [](const Field& f) { return f.required; });
  if (pairs.empty() && needs_none) return {};
  JsonBody none;
  Json values = Json::object();
  for (const auto& [name, text] : pairs) {
    const Field* row = row_named(table, name);
    if (row != nullptr && !text.empty()) values[name] = from_text(*row, text);
    if (const auto [of, member] = member_named(table, name); of != nullptr) {
      Json& members = values[std::string(of->name)];
      if (members.is_null() || members.is_object()) members[member] = text;
    }
  }
  FieldReader reader("query", none);
  reader.read(table, values, object);
  return std::move(reader.problems());
}

namespace {

// Cut at a character.
std::string short_name(const std::string& name) {
  std::size_t end = std::min(name.size(), kUnknownNameMax);
  while (end > 0 && end < name.size() && (name[end] & 0xC0) == 0x80) --end;
  return name.substr(0, end);
}

FieldProblem query_problem(const std::string& name, std::string type, std::string msg) {
  return {.loc = {"query", short_name(name)},
          .msg = std::move(msg),
          .type = std::move(type),
          .input = {},
          .ctx = {}};
}

}  // namespace

std::vector<std::string> unknown_names(std::span<const Field> table, const QueryPairs& pairs) {
  std::vector<std::string> names;
  for (const auto& [name, text] : pairs) {
    if (names.size() == kUnknownNamed) break;
    const bool is_known = row_named(table, name) != nullptr || member_named(table, name).first != nullptr;
    if (!is_known && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

Problems unknown_parameters(std::span<const Field> table, const std::vector<std::string>& names) {
  std::vector<std::string_view> known;
  for (const Field& field : table) known.push_back(field.name);
  Problems problems;
  for (const std::string& name : names) {
    if (problems.size() == kUnknownNamed) break;
    const std::string shown = short_name(name);
    const std::string_view near = base::nearest(shown, known);
    const std::string advice = near.empty() ? "" : "; did you mean `" + std::string(near) + "`?";
    problems.push_back(query_problem(
        name, "extra_forbidden",
        name.empty() ? "A parameter has no name before its `=`" : "There is no such parameter" + advice));
  }
  return problems;
}

std::vector<std::string> repeated_names(const QueryPairs& pairs) {
  std::vector<std::string_view> seen;
  std::vector<std::string> names;
  for (const auto& [name, text] : pairs) {
    if (names.size() == kUnknownNamed) break;
    if (std::ranges::find(seen, name) == seen.end()) {
      seen.emplace_back(name);
    } else if (std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

Problems repeated_parameters(const std::vector<std::string>& names) {
  Problems problems;
  for (const std::string& name : names)
    problems.push_back(
        query_problem(name, "value_error", "The parameter is sent more than once; send it once"));
  return problems;
}

Problems read_form(std::span<const Field> table, QueryPairs pairs, void* object,
                   std::vector<std::string>& unknown) {
  constexpr std::string_view kListMark = "[]";
  JsonBody none;
  Json values = Json::object();
  for (auto& [name, text] : pairs) {
    std::string_view bare = name;
    if (bare.ends_with(kListMark)) bare.remove_suffix(kListMark.size());
    const Field* row = row_named(table, bare);
    if (row == nullptr) {
      unknown.push_back(name);
    } else if (!text.empty()) {
      Json& value = values[std::string(bare)];
      if (row->type == FieldType::kCustom) {
        value.push_back(std::move(text));
      } else {
        if (!value.is_null()) unknown.push_back(name);
        value = from_text(*row, text);
      }
    }
  }
  FieldReader reader("body", none);
  reader.read(table, values, object);
  unknown.insert(unknown.end(), reader.unknown().begin(), reader.unknown().end());
  return std::move(reader.problems());
}

namespace {

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

void add_bounds(Json& out, const Field& field) {
  if (field.min != std::numeric_limits<std::int64_t>::min()) out["minimum"] = field.min;
  if (field.max != kUnbounded) out["maximum"] = field.max;
}

}  // namespace

Json json_schema(const Field& field) {
  Json out = Json::object();
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
      out = Json::parse(field.schema);
      break;
  }
  if (!field.text.empty()) out["description"] = field.text;
  if (!field.default_json.empty()) out["default"] = Json::parse(field.default_json);
  if (field.deprecated) out["deprecated"] = true;
  return out;
}

Json json_schema(std::span<const Field> table) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Field& field : table) {
    Json one = json_schema(field);
    if (!field.required && one.contains("type") && one["type"].is_string()) {
      one["type"] = Json::array({one["type"], "null"});
      if (one.contains("enum")) one["enum"].push_back(nullptr);
    }
    properties[std::string(field.name)] = std::move(one);
    if (field.required) required.push_back(field.name);
  }
  Json out = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) out["required"] = std::move(required);
  return out;
}

}  // namespace millrace::schemas
