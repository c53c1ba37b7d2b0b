#include "storage/postgres/store.h"
#include "tests/contract/postgres_server.h"

namespace millrace::storage::testing {

base::Result<std::unique_ptr<Store>> open_postgres(Store::Options options, const base::Clock& clock) {
  try {
    options.url = schema_url(options.data_dir);
  } catch (const DbError& e) {
    return base::error(base::Code::kInternal, e.message);
  }
  return open_postgres_store(std::move(options), clock, StoreTime::kOwn);
}

}  // namespace millrace::storage::testing
