#include "schemas/admin_request.h"

#include <array>

namespace millrace::schemas {
namespace {

constexpr std::int64_t kKeyNameMax = 64;

// Reads a list of strings; for anything else it reports a problem and returns nullopt.
std::optional<std::vector<std::string>> texts_of(FieldReader& reader, const Json& value, std::size_t max) {
  if (!reader.is_list(value, 0, max)) return std::nullopt;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside inside(reader, i);
    const auto text = reader.text(value[i]);
    if (!text) {
      reader.problem("Input should be a valid string", "string_type", &value[i]);
      return std::nullopt;
    }
    out.emplace_back(*text);
  }
  return out;
}

template <class Object>
void read_scopes(void* object, FieldReader& reader, const Json& value) {
  const auto names = texts_of(reader, value, kScopeCount);
  if (!names) return;
  const auto scopes = ScopeSet::parse(*names);
  if (!scopes) return reader.problem(scopes.error().message, "value_error", &value);
  static_cast<Object*>(object)->scopes = *scopes;
}

template <auto Member>
void read_list(void* object, FieldReader& reader, const Json& value) {
  if (auto list = texts_of(reader, value, kAllowListMax))
    static_cast<KeyRequest*>(object)->access.*Member = *std::move(list);
}

template <auto Member>
void change_list(void* object, FieldReader& reader, const Json& value) {
  if (auto list = texts_of(reader, value, kAllowListMax))
    static_cast<KeyChange*>(object)->*Member = AllowList(*std::move(list));
}

void change_budget(void* object, FieldReader& reader, const Json& value) {
  read_budget(reader, value, static_cast<KeyChange*>(object)->budget.emplace());
}

void change_limits(void* object, FieldReader& reader, const Json& value) {
  read_limits(reader, value, static_cast<KeyChange*>(object)->limits.emplace());
}

void change_name(void* object, FieldReader& reader, const Json& value) {
  static_cast<KeyChange*>(object)->name = std::string(*reader.text(value));
}

void change_expiry(void* object, FieldReader& reader, const Json& value) {
  std::optional<base::WallTime> time;
  if (!reader.check(Field{.name = {}, .type = FieldType::kTime}, value)) return;
  assign(reader, value, time);
  static_cast<KeyChange*>(object)->expires_at = time;
}

constexpr std::string_view kScopesSchema =
    R"({"type":"array","items":{"type":"string","enum":["models","chat","embeddings","images","audio","ocr",)"
    R"("exec:run","exec:read","ssh:issue","machines:write","jobs:read","jobs:write","files:read","files:write","webhooks:read","webhooks:write","metrics","tenant:admin",)"
    R"("admin"]}})";
constexpr std::string_view kListSchema =
    R"({"type":["array","null"],"maxItems":256,"items":{"type":"string","minLength":1,"maxLength":512}})";
static_assert(kAllowListMax == 256 && kAllowedNameMax == 512, "the schema names them");
constexpr std::string_view kIpRangesText =
    "The addresses from which the key may be used, such as `10.0.0.0/8` or `2001:db8::1`; absent: all";
constexpr std::string_view kModelsText =
    "The models that the key may use, also as fallbacks; a `*` at the end stands for any text, as in "
    "`openai/*`; "
    "absent: all";
constexpr std::string_view kServersText =
    "The MCP servers that the key may use: slugs or URLs; a `*` at the end stands for any text; absent: all";

void read_key_budget(void* object, FieldReader& reader, const Json& value) {
  read_budget(reader, value, static_cast<KeyRequest*>(object)->budget);
}

void read_key_limits(void* object, FieldReader& reader, const Json& value) {
  read_limits(reader, value, static_cast<KeyRequest*>(object)->limits);
}

const std::array kKeyRequest{
    Field{.name = "name",
          .required = true,
          .text = "What the key is used for; only A-Z a-z 0-9 . _ -",
          .min = 1,
          .max = kKeyNameMax,
          .store = &store_in<KeyRequest, &KeyRequest::name>},
    Field{.name = "tenant",
          .text = "The tenant whose jobs and machines the key can access; absent: `default`, or with "
                  "`tenant:admin` the caller's",
          .min = 1,
          .max = kKeyNameMax,
          .store = &store_in<KeyRequest, &KeyRequest::tenant>},
    Field{.name = "scopes",
          .type = FieldType::kCustom,
          .text = "The key's permissions; absent: all except `metrics`, `tenant:admin` and `admin`",
          .schema = kScopesSchema,
          .custom = &read_scopes<KeyRequest>},
    Field{.name = "expires_at",
          .type = FieldType::kTime,
          .text = "When the key expires; absent: never",
          .store = &store_in<KeyRequest, &KeyRequest::expires_at>},
    Field{.name = "ip_ranges",
          .type = FieldType::kCustom,
          .text = kIpRangesText,
          .schema = kListSchema,
          .custom = &read_list<&KeyAccess::ip_ranges>},
    Field{.name = "models",
          .type = FieldType::kCustom,
          .text = kModelsText,
          .schema = kListSchema,
          .custom = &read_list<&KeyAccess::models>},
    Field{.name = "mcp_servers",
          .type = FieldType::kCustom,
          .text = kServersText,
          .schema = kListSchema,
          .custom = &read_list<&KeyAccess::mcp_servers>},
    Field{.name = "limits",
          .type = FieldType::kCustom,
          .text = "Limits of this key, within those of its tenant; null or missing: none",
          .schema = limits_schema(),
          .custom = &read_key_limits},
    Field{
        .name = "budget",
        .type = FieldType::kCustom,
        .text =
            "What this key may spend on models, within the budget of its tenant; null or missing: no budget",
        .schema = budget_schema(),
        .custom = &read_key_budget},
};

const std::array kKeyChange{
    Field{.name = "name",
          .text = "What the key is used for; only A-Z a-z 0-9 . _ -",
          .min = 1,
          .max = kKeyNameMax,
          .store = &change_name},
    Field{.name = "scopes",
          .type = FieldType::kCustom,
          .text = "All permissions of the key",
          .schema = kScopesSchema,
          .custom = &read_scopes<KeyChange>},
    Field{.name = "expires_at",
          .type = FieldType::kCustom,
          .text = "When the key expires; null: never",
          .schema = R"({"type":["string","null"],"format":"date-time"})",
          .custom = &change_expiry},
    Field{.name = "ip_ranges",
          .type = FieldType::kCustom,
          .text = "As for a new key; null: all",
          .schema = kListSchema,
          .custom = &change_list<&KeyChange::ip_ranges>},
    Field{.name = "models",
          .type = FieldType::kCustom,
          .text = "As for a new key; null: all",
          .schema = kListSchema,
          .custom = &change_list<&KeyChange::models>},
    Field{.name = "mcp_servers",
          .type = FieldType::kCustom,
          .text = "As for a new key; null: all",
          .schema = kListSchema,
          .custom = &change_list<&KeyChange::mcp_servers>},
    Field{.name = "limits",
          .type = FieldType::kCustom,
          .text = "All limits of the key, within those of its tenant; null: none",
          .schema = limits_schema(),
          .custom = &change_limits},
    Field{.name = "budget",
          .type = FieldType::kCustom,
          .text = "What the key may spend on models, within the budget of its tenant; null: no budget",
          .schema = budget_schema(),
          .custom = &change_budget},
};
static_assert(kScopeCount == 19, "a new scope is a new choice");

struct Rotation {
  std::int64_t overlap_seconds = kOverlapDefault.count();
};
constexpr std::array kRotation{
    Field{.name = "overlap_seconds",
          .type = FieldType::kInteger,
          .text = "How long the old key remains valid, in seconds",
          .min = 0,
          .max = kOverlapMax.count(),
          .default_json = "86400",
          .store = &store_in<Rotation, &Rotation::overlap_seconds>},
};
static_assert(kOverlapDefault.count() == 86'400, "the text above names it");

// `filter` is read by another module's table, so its value is kept separately.
struct BulkBody {
  BulkRequest request;
  const Json* filter = nullptr;
};

void read_ids(void* object, FieldReader& reader, const Json& value) {
  static_cast<BulkBody*>(object)->request.ids = texts_of(reader, value, kBulkIdsMax);
}

void keep_filter(void* object, FieldReader& reader, const Json& value) {
  if (!reader.is_object(value)) return;
  static_cast<BulkBody*>(object)->filter = &value;
}

constexpr std::array kBulkRequest{
    Field{.name = "ids",
          .type = FieldType::kCustom,
          .text = "The ids of the jobs",
          .schema = R"({"type":"array","maxItems":1000,"items":{"type":"string"}})",
          .custom = &read_ids},
    Field{.name = "filter",
          .type = FieldType::kCustom,
          .text =
              "Selects the jobs that `GET /v1/admin/jobs` lists with these parameters: kind, status, model, "
              "error, created_after, created_before, q, tenant; and `cursor`",
          .schema = R"({"type":"object"})",
          .custom = &keep_filter},
};
static_assert(kBulkIdsMax == 1000, "the text above names it");

}  // namespace

tl::expected<KeyRequest, Refusal> parse_key_request(std::string& body, std::string tenant) {
  return read_body<KeyRequest>(body, kKeyRequest, {.tenant = std::move(tenant)});
}

tl::expected<KeyChange, Refusal> parse_key_change(std::string& body) {
  const auto read = read_json(body);
  if (!read) return tl::make_unexpected(Refusal{read.error(), {}});
  KeyChange out;
  FieldReader reader("body", *read);
  reader.read(kKeyChange, read->value, &out);
  reader.refuse_unknown();
  if (!reader.problems().empty()) return tl::make_unexpected(invalid(std::move(reader.problems())));
  const auto is_null = [&](const char* name) {
    return read->value.contains(name) && read->value[name].is_null();
  };
  if (is_null("expires_at")) out.expires_at.emplace();
  if (is_null("limits")) out.limits.emplace();
  if (is_null("budget")) out.budget.emplace();
  if (is_null("ip_ranges")) out.ip_ranges.emplace();
  if (is_null("models")) out.models.emplace();
  if (is_null("mcp_servers")) out.mcp_servers.emplace();
  return out;
}

tl::expected<std::chrono::seconds, Refusal> parse_rotation(std::string& body) {
  const auto rotation = read_body<Rotation>(body, kRotation);
  if (!rotation) return tl::make_unexpected(rotation.error());
  return std::chrono::seconds(rotation->overlap_seconds);
}

tl::expected<BulkRequest, Refusal> parse_bulk_request(std::string& body, std::span<const Field> table,
                                                      void* filter) {
  const auto read = read_json(body);
  if (!read) return tl::make_unexpected(Refusal{read.error(), {}});
  BulkBody out;
  FieldReader reader("body", *read);
  reader.read(kBulkRequest, read->value, &out);
  if (out.filter != nullptr) {
    const FieldReader::Inside inside(reader, "filter");
    reader.read(table, *out.filter, filter);
  }
  reader.refuse_unknown();
  if ((out.filter != nullptr) == out.request.ids.has_value() && reader.problems().empty())
    reader.problem("Exactly one of `ids` and `filter` should be given", "value_error");
  if (!reader.problems().empty()) return tl::make_unexpected(invalid(std::move(reader.problems())));
  return std::move(out.request);
}

std::span<const Field> key_request_fields() { return kKeyRequest; }
std::span<const Field> key_change_fields() { return kKeyChange; }
std::span<const Field> rotation_fields() { return kRotation; }
std::span<const Field> bulk_request_fields() { return kBulkRequest; }

}  // namespace millrace::schemas
