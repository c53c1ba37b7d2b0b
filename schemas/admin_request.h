#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schemas/access.h"
#include "schemas/error_body.h"
#include "schemas/field.h"
#include "schemas/json/json_body.h"
#include "schemas/key_access.h"
#include "schemas/tenants/budget.h"
#include "schemas/tenants/limits.h"

namespace millrace::schemas {

// Parses all of `body` by `table`; the fields of the table store into `out`. `body`: see read_json.
// Errors: kBadRequest (JSON), kInvalidField with its problems. Unknown fields are problems.
template <class Object>
tl::expected<Object, Refusal> read_body(std::string& body, std::span<const Field> table, Object out = {}) {
  const auto read = read_json(body);
  if (!read) return tl::make_unexpected(Refusal{read.error(), {}});
  FieldReader reader("body", *read);
  reader.read(table, read->value, &out);
  reader.refuse_unknown();
  if (!reader.problems().empty()) return tl::make_unexpected(invalid(std::move(reader.problems())));
  return out;
}

// Request bodies of the admin API (docs/design/http-contract.md §8).

// POST /v1/admin/keys.
struct KeyRequest {
  std::string name = {};
  std::string tenant = "default";
  ScopeSet scopes = ScopeSet::of_a_new_key();
  std::optional<base::WallTime> expires_at = {};  // absent: never
  KeyAccess access = {};
  Limits limits = {};
  std::optional<Budget> budget = {};
};
// `body`: see read_json. Errors: kBadRequest (JSON), kInvalidField with its problems. Unknown fields are
// problems too. Name, tenant and access are checked when the key is created. `tenant`: if the body names
// none.
tl::expected<KeyRequest, Refusal> parse_key_request(std::string& body, std::string tenant = "default");

// PATCH /v1/admin/keys/{id}. Absent members do not change. An inner nullopt (null in the body) removes the
// restriction: the key never expires, or may use everything.
struct KeyChange {
  std::optional<std::string> name;
  std::optional<ScopeSet> scopes;
  std::optional<std::optional<base::WallTime>> expires_at;
  std::optional<AllowList> ip_ranges, models, mcp_servers;
  std::optional<Limits> limits;  // all of them; null in the body: none
  std::optional<std::optional<Budget>> budget;
};
// As parse_key_request.
tl::expected<KeyChange, Refusal> parse_key_change(std::string& body);

// POST /v1/admin/keys/{id}/rotate: {overlap_seconds?}, how long the old key remains valid.
inline constexpr std::chrono::seconds kOverlapDefault{std::chrono::hours(24)};
inline constexpr std::chrono::seconds kOverlapMax{std::chrono::hours(24) * 30};
tl::expected<std::chrono::seconds, Refusal> parse_rotation(std::string& body);

// POST /v1/admin/jobs/retry and /cancel: either `ids` or `filter`, which has the fields of the job list.
inline constexpr std::size_t kBulkIdsMax = 1000;
struct BulkRequest {
  std::optional<std::vector<std::string>> ids;
};
// `filter`: the struct that `table` fills. A request without ids has a filter, which may be empty.
tl::expected<BulkRequest, Refusal> parse_bulk_request(std::string& body, std::span<const Field> table,
                                                      void* filter);

// The tables, for OpenAPI.
std::span<const Field> key_request_fields();
std::span<const Field> key_change_fields();
std::span<const Field> rotation_fields();
std::span<const Field> bulk_request_fields();

}  // namespace millrace::schemas
