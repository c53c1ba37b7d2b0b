#include "storage/schema_lock.h"

#include <poll.h>

#include "platform/base/ids.h"

namespace millrace::storage {

bool SchemaLock::share(std::chrono::milliseconds wait) {
  const auto end = std::chrono::steady_clock::now() + wait;
  while (!try_share()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    pause_before_asking_again();
  }
  return true;
}

bool SchemaLock::try_exclude() {
  if (!file_.try_lock(LockFile::Mode::kExclusive)) return false;
  file_.sign();
  return true;
}

std::string SchemaLock::holders() const {
  const std::string seen = file_.seen_holders();
  return seen.empty() ? "a process that /proc/locks does not show here (in another container?)" : seen;
}

void pause_before_asking_again() {
  const int jitter_ms = static_cast<unsigned char>(base::random_bytes(1).front()) % 10;
  ::poll(nullptr, 0, 3 + jitter_ms);
}

}  // namespace millrace::storage
