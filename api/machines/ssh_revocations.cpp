#include "api/machines/ssh_revocations.h"

#include <vector>

#include "machines/keys/ssh_authority.h"
#include "storage/machines/ssh_sessions.h"

namespace millrace::api {

base::Status Revocations::publish() {
  const std::lock_guard lock(mutex_);
  const auto revoked = storage::SshSessions(store_).revoked();
  if (!revoked) return revoked.error();
  const std::vector<std::uint64_t> serials(revoked->serials.begin(), revoked->serials.end());
  return authority_->write_revocation_list(serials, static_cast<std::uint64_t>(revoked->version),
                                           clock_.wall());
}

}  // namespace millrace::api
