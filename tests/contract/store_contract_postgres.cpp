#include <cstdlib>
#include <fstream>
#include <string>

#include "platform/base/crypto.h"
#include "storage/postgres/database.h"
#include "storage/postgres/store.h"
#include "tests/contract/postgres_server.h"

namespace millrace::storage::testing {
namespace {

std::string server_url() {
  const char* build = std::getenv("MILLRACE_BUILD");
  std::ifstream file(std::string(build == nullptr ? "build/test" : build) + "/postgres-url");
  std::string url;
  std::getline(file, url);
  return url;
}

}  // namespace

std::string schema_url(const std::string& folder) {
  const std::string server = server_url();
  if (server.empty())
    throw DbError{.message = "no postgres-url in the build folder: ctest runs scripts/postgres start"};
  const std::string schema = "t_" + base::hex(base::sha256(folder)).substr(0, 16);
  PostgresDb(server).script("CREATE SCHEMA IF NOT EXISTS " + schema);
  return server + "?options=-csearch_path%3D" + schema;
}

base::Result<std::unique_ptr<Store>> open_postgres(Store::Options options, const base::Clock& clock) {
  try {
    options.url = schema_url(options.data_dir);
  } catch (const DbError& e) {
    return base::error(base::Code::kInternal, e.message);
  }
  return open_postgres_store(std::move(options), clock, StoreTime::kOwn);
}

}  // namespace millrace::storage::testing
