#pragma once
#include <memory>
#include <mutex>

#include "machines/keys/ssh_authority.h"
#include "platform/base/clock.h"
#include "platform/base/result.h"
#include "storage/store.h"

namespace millrace::api {

// The revocation list where sshd reads it, kept as the store has it. Thread-safe; everything in it outlives
// it.
class Revocations {
 public:
  Revocations(storage::Store& store, const std::shared_ptr<const machines::SshAuthority>& authority,
              const base::Clock& clock)
      : store_(store), authority_(authority), clock_(clock) {}

  // Every serial that is revoked by now is in the list when it returns. Blocks: pool. REQUIRES an authority.
  base::Status publish();

 private:
  storage::Store& store_;
  const std::shared_ptr<const machines::SshAuthority>& authority_;
  const base::Clock& clock_;
  std::mutex mutex_;  // one look at the store after the other; the authority orders those of other processes
};

}  // namespace millrace::api
