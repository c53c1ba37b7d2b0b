#include "app/config/quota_defaults.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <unistd.h>

namespace millrace::app {
namespace {

using schemas::Limits;
using schemas::Quota;

constexpr std::int64_t kBytesPerMiB = std::int64_t{1} << 20;
constexpr std::int64_t kBytesPerGiB = std::int64_t{1} << 30;

// More than the front end serves on one core, so these stop runaway clients, not busy ones.
constexpr std::int64_t kRequestsPerCore = 3'000'000;
constexpr std::int64_t kTokensPerMinute = 10'000'000;
constexpr std::int64_t kRunningJobs = 2'000'000;
constexpr std::int64_t kStoredJobs = 10'000'000;
constexpr std::int64_t kPagesPerDay = 1'000'000;
constexpr std::int64_t kMachinesMin = 8;
constexpr std::int64_t kPerCore = 4;  // machines and virtual CPUs; most of them sleep
constexpr std::int64_t kDiskShare = 4;
constexpr std::int64_t kSshSessions = 64;

Limits tenant_defaults(const HostSize& host) {
  Limits limits;
  const std::int64_t disk = std::max(host.disk_bytes / kDiskShare, kBytesPerGiB);
  limits[Quota::kRequestsPerMinute] = kRequestsPerCore * host.cores;
  limits[Quota::kTokensPerMinute] = kTokensPerMinute;
  limits[Quota::kRunningJobs] = kRunningJobs;
  limits[Quota::kStoredJobs] = kStoredJobs;
  limits[Quota::kStoredBytes] = disk;
  limits[Quota::kPagesPerDay] = kPagesPerDay;
  limits[Quota::kMachines] = std::max(kMachinesMin, kPerCore * host.cores);
  limits[Quota::kVcpu] = std::max(kMachinesMin, kPerCore * host.cores);
  limits[Quota::kMemoryMib] = std::max(host.memory_mib, kMachinesMin * 1024);
  limits[Quota::kStorageGib] = std::max(disk / kBytesPerGiB, kMachinesMin * 4);
  limits[Quota::kSshSessions] = kSshSessions;
  return limits;
}

}  // namespace

HostSize host_size(const std::string& data_dir) {
  HostSize host;
  host.cores = std::max<std::int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN));
  host.memory_mib = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGE_SIZE) / kBytesPerMiB;
  std::filesystem::path folder = data_dir;
  std::error_code failed;
  while (!folder.empty() && !std::filesystem::exists(folder, failed) && folder.has_relative_path())
    folder = folder.parent_path();
  const auto space = std::filesystem::space(folder.empty() ? "." : folder, failed);
  host.disk_bytes = failed ? 0 : static_cast<std::int64_t>(space.capacity);
  return host;
}

storage::QuotaDefaults quota_defaults(const Settings& settings, const HostSize& host) {
  storage::QuotaDefaults defaults;
  if (!settings.single_tenant) defaults.tenant = tenant_defaults(host);
  if (settings.requests_per_minute > 0)
    defaults.key[Quota::kRequestsPerMinute] = settings.requests_per_minute;
  if (settings.concurrent_jobs > 0) defaults.key[Quota::kRunningJobs] = settings.concurrent_jobs;
  return defaults;
}

}  // namespace millrace::app
