#include "storage/failures.h"

#include <atomic>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

#include <unistd.h>

#include "platform/base/log.h"
#include "storage/failure_flag.h"

namespace millrace::storage {
namespace {

constexpr const char* kAdvice =
    "start millrace again: it reads the store anew from the disk and goes on; if this comes again, look at "
    "the disk (`dmesg`), move the data directory to another, or restore a backup";

// Only one thread ends the process: returns true for the first caller. The others wait for the end
// (wait_for_end).
bool claim_end() {
  static std::atomic_flag is_claimed;
  return !is_claimed.test_and_set();
}

[[noreturn]] void wait_for_end() {
  while (true) ::pause();
}

// REQUIRES: claim_end.
[[noreturn]] void die(const char* event, std::initializer_list<base::Field> fields) {
  base::log_error(event, fields);
  base::log_stop();
  ::_exit(1);
}

[[noreturn]] void die(const char* event, const SqliteError& e) {
  if (!claim_end()) wait_for_end();
  die(event, {{"code", e.code}, {"error", e.message}});
}

}  // namespace

base::Error overloaded(std::string why, std::chrono::milliseconds retry_after) {
  base::Error e = base::error(base::Code::kOverloaded, std::move(why));
  e.retry_after = retry_after;
  return e;
}

base::Error no_such_job() { return base::error(base::Code::kNotFound, "no such job"); }

base::Error store_error(const SqliteError& e) {
  using std::chrono::seconds;
  if (e.is_full()) return overloaded("the disk of the data directory is full", seconds(30));
  if (e.is_busy()) return overloaded("the store is locked by another program", seconds(5));
  base::log_error("store_failed", {{"code", e.code}, {"error", e.message}});
  return base::error(base::Code::kInternal, "the store could not do it");
}

void die_of_commit(const SqliteError& e) { die("store_commit_failed", e); }

void die_of_sync(const char* file, int error) {
  const bool is_first = claim_end();
  const std::string why = std::strerror(error);
  FailureFlag::set_for(file, why);
  if (!is_first) wait_for_end();
  die("store_sync_failed", {{"file", file}, {"error", why}, {"advice", kAdvice}});
}

void die_of_other(const std::string& reason) {
  if (!claim_end()) wait_for_end();
  die("store_failed_elsewhere", {{"reason", reason}, {"advice", kAdvice}});
}

}  // namespace millrace::storage
