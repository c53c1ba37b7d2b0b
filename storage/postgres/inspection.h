#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "storage/db/db.h"

namespace millrace::storage {

struct PostgresInspection {
  std::string server_version;
  int schema = 0;  // 0: none yet
  int newest_schema = 0;
  // A standby that each commit waits for is configured; it is connected. Without it no commit ends.
  bool has_synchronous_standby = false, standby_is_connected = false;
  std::chrono::milliseconds server_ahead{0};  // the server's clock less this host's
  // The role has pg_monitor. Without it, it sees neither what a standby has, nor the sessions of other roles.
  bool may_monitor = false;
  // The age of the oldest snapshot that any session holds, as far as this role may see it: dead rows that are
  // younger are kept.
  std::chrono::seconds oldest_snapshot{0};
  // The rest only if `schema` is the newest.
  std::map<std::string, std::string> secret_checks;  // storage/admin/secret_checks.h
  bool has_keys = false;
  std::string owner;  // postgres_owner; empty: nothing has started on it yet
  struct Host {
    std::string name;
    std::chrono::milliseconds silent{0};  // since its last report
  };
  std::vector<Host> hosts;
};

// Inside storage and for `inspect_postgres`: the name of this store for Blobs::claim. A standby keeps it when
// it is promoted; a copy of the database on another server, or under another name, has another one.
std::string postgres_owner(Db& db);

// Looks at a database without changing it. The error says what is wrong: it cannot be reached, or its server
// could lose accepted jobs.
base::Result<PostgresInspection> inspect_postgres(const std::string& url);

}  // namespace millrace::storage
