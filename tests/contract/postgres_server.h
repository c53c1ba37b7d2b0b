#pragma once
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "platform/base/clock.h"
#include "platform/base/crypto.h"
#include "storage/postgres/database.h"
#include "storage/store.h"

namespace millrace::storage::testing {

// The URL of a schema of its own, by the name of `folder`, on the server that ctest has started; creates it.
// Throws DbError. REQUIRES: the file postgres-url in the folder of the build (scripts/postgres start).
inline std::string schema_url(const std::string& folder) {
  const char* build = std::getenv("MILLRACE_BUILD");
  std::ifstream file(std::string(build == nullptr ? "build/test" : build) + "/postgres-url");
  std::string server;
  std::getline(file, server);
  if (server.empty())
    throw DbError{.message = "no postgres-url in the build folder: ctest runs scripts/postgres start"};
  const std::string schema = "t_" + base::hex(base::sha256(folder)).substr(0, 16);
  PostgresDb(server).script("CREATE SCHEMA IF NOT EXISTS " + schema);
  return server + "?options=-csearch_path%3D" + schema;
}

// Opens a store with a schema of its own, by the name of options.data_dir.
base::Result<std::unique_ptr<Store>> open_postgres(Store::Options options, const base::Clock& clock);

}  // namespace millrace::storage::testing
