#pragma once
#include <optional>
#include <string>

#include "api/admission/auth.h"
#include "api/routing/list_query.h"
#include "storage/jobs/job_queries.h"

// The filters of job lists, parsed from the query by job_list_fields() or all_job_list_fields().
namespace millrace::api {

struct JobListQuery : PageQuery {
  std::string error, kind, status, model, ids, q, tenant, batch;
  std::optional<base::WallTime> created_after, created_before;
  schemas::Metadata metadata;
};

// `principal`: names are searched only in the kinds whose contents the key may read.
storage::JobFilter filter_of(const JobListQuery& query, const Principal& principal);

}  // namespace millrace::api
