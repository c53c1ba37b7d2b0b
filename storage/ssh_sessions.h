#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schemas/machine.h"
#include "schemas/ssh_session.h"
#include "storage/machine_calls.h"
#include "storage/store.h"
#include "storage/writer.h"

namespace millrace::storage {

// SSH sessions, bound to a tenant. Moves never block; reads block: pool and slot threads.
class SshSessions {
 public:
  using Reply = Compose<schemas::SshSession>;
  // Signs: makes the connection of a session whose id, machine, key, serial, created_at, ready_at (now: the
  // certificate is valid from there) and expires_at are set. Pure, on the commit thread, ≤ 100 µs.
  using Issue = std::function<schemas::SshConnection(const schemas::SshSession&, const schemas::Machine&)>;

  explicit SshSessions(Store& store) : store_(store) {}

  struct Wish {
    base::Uuid id;  // of the session
    base::Uuid machine;
    std::string public_key;
    std::chrono::milliseconds lifetime;  // of the certificate
  };
  // Of a machine that is awake and whose SSH endpoint lives (driver ssh: its target): `ready`, signed by
  // `issue`, and audited. Else `wake_in_progress`, with the act that makes it so. kNotFound: no such machine;
  // kInvalidState: it is being destroyed.
  void create(Wish wish, MachineCall call, Issue issue, Reply reply, Done<Answer> done);
  // One that waits becomes ready if its machine is by now, from then on for the whole lifetime; else its
  // machine's next act is seen to. Anything else stays. The session as it is then; kNotFound.
  void refresh(std::string tenant, base::Uuid machine, base::Uuid id, std::string actor, Issue issue,
               Done<schemas::SshSession> done);
  // → closed, its serial revoked, audited; one that is not open any more stays as it is.
  void close(base::Uuid machine, base::Uuid id, MachineCall call, Reply reply, Done<Answer> done);

  base::Result<schemas::SshSession> session(const std::string& tenant, const base::Uuid& machine,
                                            const base::Uuid& id);  // kNotFound
  // Newest first, before this id.
  base::Result<std::vector<schemas::SshSession>> list(const std::string& tenant, const base::Uuid& machine,
                                                      int limit, std::optional<base::Uuid> before);
  // Serials of closed sessions whose certificates ended less than a minute ago or not yet, of all tenants,
  // and the version of this list: it rises with each close of one that has a certificate. It is counted apart
  // from the rows, which go in time.
  struct Revoked {
    std::vector<std::int64_t> serials;
    std::int64_t version = 0;
  };
  base::Result<Revoked> revoked();

 private:
  Store& store_;
};

}  // namespace millrace::storage
