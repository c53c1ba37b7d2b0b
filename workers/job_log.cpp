#include "workers/job_log.h"

#include <vector>

namespace millrace::workers {

void log_job(base::LogLevel level, std::string_view event, const storage::Claimed& job,
             std::initializer_list<base::Field> fields) {
  if (!base::log_enabled(level)) return;
  std::vector<base::Field> all{{"job_id", job.lease.job.str()},
                               {"tenant", job.tenant},
                               {"kind", schemas::name(job.lease.job.kind)},
                               {"attempt", job.lease.attempt}};
  if (!job.traceparent.empty()) all.emplace_back("traceparent", job.traceparent);
  all.insert(all.end(), fields);
  base::log(level, event, all);
}

}  // namespace millrace::workers
