#include "storage/failures.h"

#include <utility>

#include <unistd.h>

#include "platform/base/log.h"

namespace millrace::storage {
namespace {

[[noreturn]] void die(const char* event, const SqliteError& e) {
  base::log_error(event, {{"code", e.code}, {"error", e.message}});
  base::log_stop();
  ::_exit(1);
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

void die_of_copy(const SqliteError& e) { die("store_copy_failed", e); }

}  // namespace millrace::storage
