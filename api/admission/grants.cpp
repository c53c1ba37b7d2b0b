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
  if (!is_visible(by, key)) return storage::no_such_key();
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

base::Status may_grant(const Principal& by, const std::optional<base::WallTime>& expires_at,
                       const schemas::Limits& limits, const std::optional<schemas::Budget>& budget) {
  if (by.expires_at && (!expires_at || *expires_at > *by.expires_at))
    return cannot_grant(by, "a life beyond its own expiry, " + base::rfc3339(*by.expires_at));
  for (std::size_t i = 0; i < schemas::kQuotaCount; ++i) {
    const auto quota = static_cast<schemas::Quota>(i);
    if (by.key_limits.of(quota) == schemas::kUnlimited) continue;
    // A limit that was not set has the same default as the caller's.
    const bool is_default = !limits[quota] && !by.key_own_limits[quota];
    if (is_default || limits.of(quota) <= by.key_limits.of(quota)) continue;
    return cannot_grant(by, "a higher limit `" + std::string(schemas::name(quota)) + "` than its own");
  }
  // Each key has its own sum, so several keys would multiply the budget.
  const bool may_spend = !budget || !budget->hard || *budget->hard > 0;
  if (by.key_budget && by.key_budget->hard && may_spend)
    return base::error(Code::kForbidden, "The API key " + by.key_id +
                                             " has a budget, so the keys that it creates or changes need a "
                                             "`budget` with `usd` 0");
  return {};
}

base::Status may_take_over(const Principal& by, const storage::ApiKeyRow& key) {
  if (base::Status may = may_manage(by, key); !may) return may;
  const bool is_own = key.id == by.key_id;  // its successor shares its sum
  const auto budget = is_own ? schemas::Budget{.hard = 0} : key.budget;
  if (base::Status may = may_grant(by, key.expires_at, key.limits, budget); !may) return may;
  return may_grant(by, key.tenant, scopes_of(key), key.access);
}

base::Status may_change(const Principal& by, const storage::ApiKeyRow& before,
                        const storage::ApiKeyRow& after) {
  if (base::Status may = may_manage(by, before); !may) return may;
  const bool lives_longer =
      before.expires_at && (!after.expires_at || *after.expires_at > *before.expires_at);
  if (lives_longer && !before.rotated_to.empty())
    return base::error(Code::kInvalidState, "the key was replaced by " + before.rotated_to +
                                                ", so it cannot live longer: change that one");
  if (lives_longer || after.limits != before.limits || after.budget != before.budget) {
    const auto expires_at = lives_longer ? after.expires_at : by.expires_at;
    if (base::Status may = may_grant(by, expires_at, after.limits, after.budget); !may) return may;
  }
  if (lives_longer) return may_grant(by, after.tenant, scopes_of(after), after.access);
  schemas::ScopeSet added;
  for (std::size_t i = 0; i < schemas::kScopeCount; ++i) {
    const auto scope = static_cast<Scope>(i);
    if (scopes_of(after).has(scope) && !scopes_of(before).has(scope)) added.add(scope);
  }
  const bool reaches_more = !schemas::covers(before.access, after.access);
  return may_grant(by, after.tenant, added, reaches_more ? after.access : by.access);
}

}  // namespace millrace::api
