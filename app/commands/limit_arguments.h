#pragma once
#include <optional>
#include <string>

#include "platform/base/result.h"
#include "schemas/tenants/budget.h"
#include "schemas/tenants/limits.h"

namespace millrace::app {

// Changes one limit as an argument of the command line requests: QUOTA=NUMBER (stored_bytes also with a
// unit), QUOTA=unlimited or QUOTA=default. Or a part of the budget: usd=DOLLARS, soft_usd=DOLLARS,
// period=day|month|total; usd=none and soft_usd=none remove it. kInvalidField: it has another form; the
// message lists the quotas.
base::Status apply_limit(const std::string& argument, schemas::Limits& limits,
                         std::optional<schemas::Budget>& budget);

// To call after the last argument: a budget without an amount is removed.
void remove_empty(std::optional<schemas::Budget>& budget);

}  // namespace millrace::app
