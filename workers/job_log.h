#pragma once
#include <initializer_list>
#include <string_view>

#include "platform/base/log.h"
#include "storage/job_claims.h"

namespace millrace::workers {

// One line of the log about an attempt at a job: which one (job_id, tenant, kind, attempt and, if its order
// came with one, the traceparent), then `fields`. Thread-safe.
void log_job(base::LogLevel level, std::string_view event, const storage::Claimed& job,
             std::initializer_list<base::Field> fields = {});

}  // namespace millrace::workers
