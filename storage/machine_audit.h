#pragma once
#include <string_view>

#include "schemas/machine.h"
#include "storage/writer.h"

// Inside storage: what was done to machines, and by whom, for the audit log.
namespace millrace::storage {

inline constexpr std::string_view kGatewayActor = "gateway";  // it did so by itself

void audit_machine(Tx& tx, const schemas::Machine& machine, std::string_view actor, std::string_view act);

}  // namespace millrace::storage
