#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "schemas/jobs/job.h"
#include "schemas/tenants/money.h"

namespace millrace::storage {

struct Tx;

// A line of a batch that a job executes (Submission::batch_line).
struct BatchLineRef {
  base::Uuid batch;
  std::int64_t number = 0;      // from 1
  base::Uuid driver;            // the process that drives the batch
  base::WallTime expires_at{};  // of the batch, and the deadline of the job
};

// The `param` of the error for a line that may not be submitted now, whatever it says.
inline constexpr std::string_view kBatchLineParam = "batch_line";

// Inside storage. kInvalidState (with kBatchLineParam): the line was submitted before, or `driver` no longer
// drives the batch, or it is no longer in progress. kBudgetExceeded: the line could exceed the batch's own
// limit of costs.
std::optional<base::Error> line_refusal(Tx& tx, const BatchLineRef& line,
                                        std::optional<schemas::NanoUsd> cost_max);
// The line becomes this job. REQUIRES: no refusal, in the same transaction.
void take_line(Tx& tx, const BatchLineRef& line, const schemas::JobId& job,
               std::optional<schemas::NanoUsd> cost_max);

}  // namespace millrace::storage
