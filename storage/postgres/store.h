#pragma once
#include <memory>
#include <string>

#include "platform/base/clock.h"
#include "platform/base/result.h"
#include "storage/store.h"

namespace millrace::storage {

// Whose time the store uses for what it writes.
enum class StoreTime {
  kServer,  // the server's clock, which is the same for all hosts
  kOwn,     // `clock`: for tests that control it
};

// Opens the store at options.url; creates the schema if it is empty. Blobs are files in options.data_dir.
// The error says what to do.
base::Result<std::unique_ptr<Store>> open_postgres_store(Store::Options options, const base::Clock& clock,
                                                         StoreTime time);

// Creates the schema, or brings it up to date; returns its version. The error says what to do.
base::Result<int> create_postgres_schema(const std::string& url);

}  // namespace millrace::storage
