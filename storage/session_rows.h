#pragma once
#include <optional>
#include <string>
#include <vector>

#include "platform/base/ids.h"
#include "schemas/job.h"
#include "schemas/ssh_session.h"
#include "storage/sqlite.h"
#include "storage/ssh_sessions.h"
#include "storage/writer.h"

// Inside storage: the rows of SSH sessions.
namespace millrace::storage {

// Whose a session is, and of which machine.
struct SessionPlace {
  std::string tenant;
  base::Uuid machine, id;
};

std::optional<schemas::SshSession> find_session(Db& db, const SessionPlace& place);
// Newest first, before this id.
std::vector<base::Uuid> session_ids(Db& db, const std::string& tenant, const base::Uuid& machine, int limit,
                                    std::optional<base::Uuid> before);
// One that waits, with the serial that its row will have. REQUIRES: it is inserted next.
schemas::SshSession new_session(Tx& tx, const std::string& tenant, const SshSessions::Wish& wish);
void insert_session(Tx& tx, const schemas::SshSession& session);  // as it is: waiting, or ready

// Somebody waits for the machine to be entered.
bool has_waiting_sessions(const Tx& tx, const base::Uuid& machine);
// The machine did not wake: sessions that wait for it fail with this.
void fail_waiting_sessions(Tx& tx, const base::Uuid& machine, const schemas::JobError& error);

}  // namespace millrace::storage
