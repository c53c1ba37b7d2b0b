#include "storage/db/errors.h"

#include <utility>

#include "platform/base/log.h"

namespace millrace::storage {

base::Error overloaded(std::string why, std::chrono::milliseconds retry_after) {
  base::Error e = base::error(base::Code::kOverloaded, std::move(why));
  e.retry_after = retry_after;
  return e;
}

base::Error store_error(const DbError& e) {
  using std::chrono::seconds;
  if (e.is_full()) return overloaded("the disk of the store is full", seconds(30));
  if (e.is_busy()) return overloaded("the store is busy: another process holds its write lock", seconds(5));
  if (e.cause == DbError::Cause::kUnreachable)
    return overloaded("the store's database cannot be reached", seconds(2));
  if (e.cause == DbError::Cause::kInterrupted)
    return overloaded("the read took longer than a second", seconds(1));
  base::log_error("store_failed", {{"code", e.code}, {"error", e.message}});
  if (e.cause == DbError::Cause::kUnusable)
    return overloaded("the store cannot be used; the gateway's log has the cause", seconds(5));
  return base::error(base::Code::kInternal, "the store failed; the gateway's log has the cause");
}

}  // namespace millrace::storage
