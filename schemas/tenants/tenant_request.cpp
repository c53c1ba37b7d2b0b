#include "schemas/tenants/tenant_request.h"

#include <array>

#include "schemas/admin_request.h"

namespace millrace::schemas {
namespace {

void read_tenant_limits(void* object, FieldReader& reader, const Json& value) {
  read_limits(reader, value, static_cast<TenantRequest*>(object)->limits);
}

void read_tenant_budget(void* object, FieldReader& reader, const Json& value) {
  read_budget(reader, value, static_cast<TenantRequest*>(object)->budget);
}

std::span<const Field> table() {
  static const std::array kTable{
      Field{.name = "limits",
            .type = FieldType::kCustom,
            .text = "The limits to set; null or missing: the default",
            .schema = limits_schema(),
            .custom = &read_tenant_limits},
      Field{.name = "budget",
            .type = FieldType::kCustom,
            .text = "What the tenant may spend on models; null or missing: no budget",
            .schema = budget_schema(),
            .custom = &read_tenant_budget},
  };
  return kTable;
}

}  // namespace

tl::expected<TenantRequest, Refusal> parse_tenant_request(std::string& body) {
  return read_body<TenantRequest>(body, table());
}

std::span<const Field> tenant_request_fields() { return table(); }

}  // namespace millrace::schemas
