#pragma once
#include <cstdint>

#include "app/config/settings.h"
#include "storage/tenants/quota_ledger.h"

namespace millrace::app {

// The size of the host, from which the default limits of tenants follow.
struct HostSize {
  std::int64_t cores = 1;
  std::int64_t memory_mib = 0;
  std::int64_t disk_bytes = 0;  // of the file system of the data directory
};
HostSize host_size(const std::string& data_dir);

// The default limits of tenants and keys (docs/operations.md, Tenants). With limits.single_tenant, tenants
// have none.
storage::QuotaDefaults quota_defaults(const Settings& settings, const HostSize& host);

}  // namespace millrace::app
