#pragma once
#include <optional>
#include <string>

#include "api/context.h"
#include "platform/base/result.h"
#include "schemas/jobs/job.h"
#include "schemas/media/ocr.h"
#include "schemas/media/transcription.h"
#include "schemas/tenants/money.h"
#include "storage/tenants/quota_ledger.h"

namespace millrace::api {

// The most that one call of a job may cost, as its Submission::cost_max: absent if its model has no price.
// Of a document whose pages are not known yet, one is reserved now; of a recording, one second. The rest is
// reserved before it is sent.
std::optional<schemas::NanoUsd> call_cost_max(Context& context, const schemas::OcrSpec& spec);
std::optional<schemas::NanoUsd> call_cost_max(Context& context, const schemas::TranscriptionSpec& spec);

// The same as storage::Retry::cost_max for a retry of `job` by `owner`, from its stored request if it was
// stored without it. Without a budget, for which alone it is needed, nothing is read: an error. Blocks on the
// disk.
base::Result<schemas::NanoUsd> retry_cost_max(Context& context, const storage::Owner& owner,
                                              const schemas::JobId& job);

}  // namespace millrace::api
