#pragma once
#include <cstdint>
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
  // Closes the sessions whose API key has ended, and publishes the list at the next call, also if another
  // process has closed sessions. Reads only, if there are none. REQUIRES: called regularly by one thread at a
  // time; an authority.
  base::Status close_of_ended_keys();

 private:
  bool is_behind();

  storage::Store& store_;
  const std::shared_ptr<const machines::SshAuthority>& authority_;
  const base::Clock& clock_;
  bool publish_due_ = false;     // `close_of_ended_keys` has closed sessions
  std::int64_t published_ = -1;  // the version of the list that was written last
  std::mutex mutex_;  // of `published_`; serializes reads of the store; the authority orders updates of
                      // several processes
};

}  // namespace millrace::api
