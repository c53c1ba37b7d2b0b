#pragma once
#include <memory>
#include <mutex>

#include "machines/keys/ssh_authority.h"
#include "platform/base/clock.h"
#include "platform/base/result.h"
#include "storage/store.h"

namespace millrace::api {

// Keeps the revocation list file, which sshd reads, in sync with the store. Thread-safe; all its dependencies
// outlive it.
class Revocations {
 public:
  Revocations(storage::Store& store, const std::shared_ptr<const machines::SshAuthority>& authority,
              const base::Clock& clock)
      : store_(store), authority_(authority), clock_(clock) {}

  // When it returns, the list contains every serial that was revoked before the call. Blocks; runs on the
  // pool. REQUIRES: an authority.
  base::Status publish();

 private:
  storage::Store& store_;
  const std::shared_ptr<const machines::SshAuthority>& authority_;
  const base::Clock& clock_;
  std::mutex mutex_;  // serializes reads of the store; the authority orders updates of several processes
};

}  // namespace millrace::api
