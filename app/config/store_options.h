#pragma once
#include "app/config/settings.h"
#include "storage/store.h"

namespace millrace::app {

// How every program opens the store that the settings name.
storage::Store::Options store_options(const Settings& settings);

// Where that store keeps documents and large results.
storage::BlobPlace blob_place(const Settings& settings);

}  // namespace millrace::app
