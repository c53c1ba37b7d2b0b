#pragma once
#include <optional>
#include <span>
#include <string>

#include "schemas/error_body.h"
#include "schemas/field.h"
#include "schemas/tenants/budget.h"
#include "schemas/tenants/limits.h"

namespace millrace::schemas {

// PUT /v1/admin/tenants/{tenant}.
struct TenantRequest {
  Limits limits{};
  std::optional<Budget> budget{};
};
// `body`: see read_json. Errors: kBadRequest (JSON), kInvalidField with its problems; unknown fields and
// quotas are problems.
tl::expected<TenantRequest, Refusal> parse_tenant_request(std::string& body);
std::span<const Field> tenant_request_fields();

}  // namespace millrace::schemas
