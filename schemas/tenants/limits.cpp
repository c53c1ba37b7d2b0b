#include "schemas/tenants/limits.h"

#include "schemas/json/json.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

constexpr std::string_view kUnlimitedName = "unlimited";

constexpr std::array<std::string_view, kQuotaCount> kQuotaNames = {
    "requests_per_minute", "tokens_per_minute", "running_jobs", "stored_jobs",
    "stored_bytes",        "pages_per_day",     "machines",     "vcpu",
    "memory_mib",          "storage_gib",       "ssh_sessions"};

std::optional<Quota> quota_named(std::string_view name) {
  for (std::size_t i = 0; i < kQuotaCount; ++i) {
    if (kQuotaNames[i] == name) return static_cast<Quota>(i);
  }
  return std::nullopt;
}

// nullopt: no valid limit.
std::optional<std::int64_t> limit_of(const Json& value) {
  if (value.is_string() && value.get_ref<const std::string&>() == kUnlimitedName) return kUnlimited;
  if (!value.is_number_integer() || value < 0 || value > kQuotaMax) return std::nullopt;
  return value.get<std::int64_t>();
}

std::string names_text() {
  std::string text;
  for (const std::string_view name : kQuotaNames) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string make_schema() {
  Json limit = {{"anyOf",
                 {{{"type", "integer"}, {"minimum", 0}, {"maximum", kQuotaMax}},
                  {{"type", "string"}, {"enum", {kUnlimitedName}}},
                  {{"type", "null"}}}}};
  Json schema = {{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
  for (const std::string_view name : kQuotaNames) schema["properties"][std::string(name)] = limit;
  return schema.dump();
}

}  // namespace

std::string_view name(Quota quota) { return kQuotaNames[static_cast<std::size_t>(quota)]; }

Limits Limits::or_else(const Limits& defaults) const {
  Limits out = *this;
  for (std::size_t i = 0; i < kQuotaCount; ++i) {
    if (!out.values_[i]) out.values_[i] = defaults.values_[i];
  }
  return out;
}

std::string limits_json(const Limits& limits) {
  JsonObject out;
  for (std::size_t i = 0; i < kQuotaCount; ++i) {
    const auto& limit = limits[static_cast<Quota>(i)];
    if (!limit) continue;
    if (*limit == kUnlimited) {
      out.member(kQuotaNames[i], kUnlimitedName);
    } else {
      out.number(kQuotaNames[i], *limit);
    }
  }
  return out.finish();
}

Limits limits_of(std::string_view text) {
  Limits limits;
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return limits;
  for (const auto& [name, value] : object.items()) {
    if (const auto quota = quota_named(name)) limits[*quota] = limit_of(value);
  }
  return limits;
}

void read_limits(FieldReader& reader, const Json& value, Limits& to) {
  if (!reader.is_object(value)) return;
  for (const auto& [name, limit] : value.items()) {
    const FieldReader::Inside inside(reader, name);
    const auto quota = quota_named(name);
    if (!quota) {
      reader.problem("There is no quota with this name; the quotas are " + names_text(), "extra_forbidden",
                     &limit);
      continue;
    }
    if (limit.is_null()) continue;
    to[*quota] = limit_of(limit);
    if (!to[*quota])
      reader.problem("A limit should be a number of at least 0, or \"unlimited\"", "value_error", &limit);
  }
}

std::string_view limits_schema() {
  static const std::string schema = make_schema();
  return schema;
}

}  // namespace millrace::schemas
