#pragma once
#include <string_view>

#include "schemas/job.h"
#include "storage/audit.h"
#include "storage/machine_calls.h"
#include "storage/writer.h"

// Inside storage.
namespace millrace::storage {

// Adds a row in the transaction of the act.
void append_audit(Tx& tx, const AuditEntry& entry);

// "execution.<act>" for a job of kind exec; other kinds leave no row, nor does who has no actor.
void audit_execution(Tx& tx, const Caller& by, std::string_view act, const schemas::JobId& job);

}  // namespace millrace::storage
