#pragma once
#include <string>

#include "api/admission/auth.h"
#include "storage/admin/api_keys.h"

// What an administrator may do with API keys. `admin` manages the keys of every tenant, `tenant:admin` those
// of its own, except keys with `admin`. Nobody grants what they do not have.
namespace millrace::api {

bool is_visible(const Principal& by, const storage::ApiKeyRow& key);
// kNotFound: the key is not visible. kForbidden: it has `admin`, and `by` does not.
base::Status may_manage(const Principal& by, const storage::ApiKeyRow& key);
// Whether a key with these rights may be created. kForbidden names what `by` does not have.
base::Status may_grant(const Principal& by, const std::string& tenant, schemas::ScopeSet scopes,
                       const schemas::KeyAccess& access);
// Whether a key may live so long (absent: for ever) and have these limits and this budget of its own.
// kForbidden.
base::Status may_grant(const Principal& by, const std::optional<base::WallTime>& expires_at,
                       const schemas::Limits& limits, const std::optional<schemas::Budget>& budget);
// Whether `by` may have the rights of an existing key, as its rotation gives them.
base::Status may_take_over(const Principal& by, const storage::ApiKeyRow& key);
// Whether `by` may change a key so. What it takes away needs no rights; what it adds does, and so does every
// right of a key that is to live longer.
base::Status may_change(const Principal& by, const storage::ApiKeyRow& before,
                        const storage::ApiKeyRow& after);

}  // namespace millrace::api
