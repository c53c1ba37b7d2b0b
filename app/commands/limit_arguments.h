#pragma once
#include <string>

#include "platform/base/result.h"
#include "schemas/tenants/limits.h"

namespace millrace::app {

// Changes one limit as an argument of the command line requests: QUOTA=NUMBER (stored_bytes also with a
// unit), QUOTA=unlimited or QUOTA=default. kInvalidField: it has another form; the message lists the quotas.
base::Status apply_limit(const std::string& argument, schemas::Limits& limits);

}  // namespace millrace::app
