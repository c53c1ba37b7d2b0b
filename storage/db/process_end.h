#pragma once
#include <initializer_list>

#include "platform/base/log.h"
#include "storage/db/db.h"

// Each of these functions writes one log line and ends the process with exit code 1.
namespace millrace::storage {

// Only one thread ends the process. True for the first caller; the others call wait_for_end.
bool claim_end();
[[noreturn]] void wait_for_end();
// REQUIRES: claim_end.
[[noreturn]] void end_process(const char* event, std::initializer_list<base::LogField> fields);

// The outcome of a COMMIT is unknown; only a new process can find out.
[[noreturn]] void exit_after_commit_failure(const DbError& e);

}  // namespace millrace::storage
