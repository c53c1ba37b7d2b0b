#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/ids.h"
#include "schemas/jobs/job.h"
#include "schemas/machines/machine.h"
#include "schemas/machines/ssh_session.h"
#include "storage/db/db.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/store.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

// SSH sessions, for one tenant. Writes never block; reads block: for pool and slot threads.
class SshSessions {
 public:
  using Reply = ReplyBuilder<schemas::SshSession>;
  // Signs a certificate: builds the connection of a session whose id, machine, key, serial, created_at,
  // ready_at (now, the start of validity) and expires_at are set. Must be pure; runs on the commit thread, at
  // most 100 µs.
  using Issue = std::function<schemas::SshConnection(const schemas::SshSession&, const schemas::Machine&)>;

  explicit SshSessions(Store& store) : store_(store) {}

  struct Request {
    base::Uuid id;  // id of the session
    base::Uuid machine;
    std::string public_key;
    std::chrono::milliseconds lifetime;  // validity of the certificate
  };
  // If the machine is awake and its SSH endpoint is live (driver ssh: its target): `ready`, signed by
  // `issue`, and audited. Otherwise `wake_in_progress`, with the operation that makes it ready. kNotFound: no
  // such machine. kInvalidState: it is being destroyed.
  void create(Request request, IdempotentCall call, Issue issue, Reply reply, Callback<CallReply> done);
  // A waiting session becomes ready if its machine is ready by now; its whole lifetime starts then. Otherwise
  // the machine's next operation is started. Other sessions do not change. Returns the session; kNotFound.
  void refresh(std::string tenant, base::Uuid machine, base::Uuid id, std::string actor, Issue issue,
               Callback<schemas::SshSession> done);
  // → closed; revokes its serial; audited. A session that is not open does not change.
  void close(base::Uuid machine, base::Uuid id, IdempotentCall call, Reply reply, Callback<CallReply> done);

  // Closes the open sessions whose API key was revoked, has expired or has lost the scope `ssh:issue`, as
  // `close` does, for the gateway. Returns how many.
  void close_of_ended_keys(Callback<int> done);
  base::Result<bool> has_any_of_ended_keys();  // true: that would close some
  // The API key of a session; empty: it has none, or its row was deleted.
  base::Result<std::string> key_of(std::int64_t serial);
  // Of these API keys, those that were revoked, have expired or have lost the scope `ssh:issue`.
  base::Result<std::vector<std::string>> ended_keys(const std::vector<std::string>& keys);

  base::Result<schemas::SshSession> session(const std::string& tenant, const base::Uuid& machine,
                                            const base::Uuid& id);  // kNotFound
  // Newest first, before this id.
  base::Result<std::vector<schemas::SshSession>> list(const std::string& tenant, const base::Uuid& machine,
                                                      int limit, std::optional<base::Uuid> before);
  // Serials of closed sessions whose certificates are still valid or ended less than a minute ago, of all
  // tenants, and the version of this list. The version rises with each close of a session that has a
  // certificate. It is counted apart from the rows, because rows are deleted in time.
  struct Revoked {
    std::vector<std::int64_t> serials;
    std::int64_t version = 0;
  };
  base::Result<Revoked> revoked();
  // Revoked::version alone.
  base::Result<std::int64_t> revocation_version();

 private:
  Store& store_;
};

// Inside storage: the rows of SSH sessions.

// Identifies a session: its tenant, machine and id.
struct SessionPath {
  std::string tenant;
  base::Uuid machine, id;
};

std::optional<schemas::SshSession> find_session(Db& db, const SessionPath& place);
// Newest first, before this id.
std::vector<base::Uuid> session_ids(Db& db, const std::string& tenant, const base::Uuid& machine, int limit,
                                    std::optional<base::Uuid> before);
// A waiting session with the serial that its row will get. REQUIRES: it is inserted next.
schemas::SshSession new_session(Tx& tx, const std::string& tenant, const SshSessions::Request& request);
// With its current status: waiting or ready. `key_id`: the API key of the request; empty: none.
void insert_session(Tx& tx, const schemas::SshSession& session, std::string_view key_id);

// True if an SSH session waits for the machine.
bool has_waiting_sessions(const Tx& tx, const base::Uuid& machine);
// The machine did not wake: fails the waiting sessions with this error.
void fail_waiting_sessions(Tx& tx, const base::Uuid& machine, const schemas::JobError& error);

// What to do with the listener that the worker of this incarnation has for the machine. Blocks: a read.
base::Result<schemas::SshListenerState> ssh_listener_state(Store& store, const base::Uuid& machine,
                                                           const base::Uuid& worker);

}  // namespace millrace::storage
