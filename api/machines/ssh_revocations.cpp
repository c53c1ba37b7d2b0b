#include "api/machines/ssh_revocations.h"

#include <vector>

#include "machines/keys/ssh_authority.h"
#include "platform/base/log.h"
#include "storage/machines/ssh_sessions.h"

namespace millrace::api {

base::Status Revocations::publish() {
  const std::lock_guard lock(mutex_);
  const auto revoked = storage::SshSessions(store_).revoked();
  if (!revoked) return revoked.error();
  const std::vector<std::uint64_t> serials(revoked->serials.begin(), revoked->serials.end());
  base::Status written =
      authority_->write_revocation_list(serials, static_cast<std::uint64_t>(revoked->version), clock_.wall());
  if (written) published_ = revoked->version;
  return written;
}

// Each host has a list of its own.
bool Revocations::is_behind() {
  if (store_.options().host.empty()) return false;
  const auto version = storage::SshSessions(store_).revocation_version();
  const std::lock_guard lock(mutex_);
  return version && *version != published_;
}

base::Status Revocations::close_of_ended_keys() {
  storage::SshSessions sessions(store_);
  const auto any = sessions.has_any_of_ended_keys();
  if (!any) return any.error();
  const bool publishes = publish_due_ && !*any;
  if (*any) {
    sessions.close_of_ended_keys([](const base::Result<int>& closed) {
      if (!closed) base::log_warn("ssh_sessions_close_failed", {{"error", closed.error().message}});
    });
  }
  if (*any) publish_due_ = true;
  if (!publishes && !is_behind()) return {};
  base::Status published = publish();
  if (published) publish_due_ = false;
  return published;
}

}  // namespace millrace::api
