#include "storage/db/process_end.h"

#include <atomic>

#include <unistd.h>

namespace millrace::storage {

bool claim_end() {
  static std::atomic_flag is_claimed;
  return !is_claimed.test_and_set();
}

void wait_for_end() {
  while (true) ::pause();
}

void end_process(const char* event, std::initializer_list<base::LogField> fields) {
  base::log_error(event, fields);
  base::log_stop();
  ::_exit(1);
}

void exit_after_commit_failure(const DbError& e) {
  if (!claim_end()) wait_for_end();
  end_process("store_commit_failed", {{"code", e.code}, {"error", e.message}});
}

}  // namespace millrace::storage
