#include "api/admission/grants.h"

#include <algorithm>

namespace millrace::api {
namespace {

using base::Code;
using schemas::Scope;

bool is_installation_admin(const Principal& by) { return by.scopes.has(Scope::kAdmin); }

schemas::ScopeSet scopes_of(const storage::ApiKeyRow& key) {
  return schemas::ScopeSet::parse(key.scopes).value_or(schemas::ScopeSet::all());
}

base::Error cannot_grant(const Principal& by, const std::string& what) {
  return base::error(Code::kForbidden,
                     "The API key " + by.key_id + " cannot grant " + what + ", which it does not have");
}

}  // namespace

bool is_visible(const Principal& by, const storage::ApiKeyRow& key) {
  return is_installation_admin(by) || key.tenant == by.tenant;
}

base::Status may_manage(const Principal& by, const storage::ApiKeyRow& key) {
  if (!is_visible(by, key)) return base::error(Code::kNotFound, "no key has this id");
  if (is_installation_admin(by) || !scopes_of(key).has(Scope::kAdmin)) return {};
  return base::error(Code::kForbidden, "The key has the scope 'admin': managing it needs that scope");
}

base::Status may_grant(const Principal& by, const std::string& tenant, schemas::ScopeSet scopes,
                       const schemas::KeyAccess& access) {
  if (!is_installation_admin(by) && tenant != by.tenant)
    return base::error(Code::kForbidden, "The scope 'tenant:admin' covers only keys of the tenant '" +
                                             by.tenant + "'; keys of other tenants need 'admin'");
  if (const auto missing = by.scopes.first_missing(scopes))
    return cannot_grant(by, "the scope '" + std::string(schemas::name(*missing)) + "'");
  if (!schemas::covers(by.access, access)) return cannot_grant(by, "these addresses, models or MCP servers");
  return {};
}

base::Status may_take_over(const Principal& by, const storage::ApiKeyRow& key) {
  if (const base::Status may = may_manage(by, key); !may) return may;
  return may_grant(by, key.tenant, scopes_of(key), key.access);
}

}  // namespace millrace::api
