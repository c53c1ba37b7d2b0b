#include <cstdio>
#include <future>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "api/admission/keys.h"
#include "app/cli/program.h"
#include "app/commands/commands.h"
#include "app/commands/limit_arguments.h"
#include "app/commands/with_store.h"
#include "platform/base/bytes.h"
#include "storage/tenants/tenants.h"

namespace millrace::app {
namespace {

using nlohmann::json;
using schemas::Quota;

constexpr const char* kTenantsActor = "cli";

double used(const storage::QuotaUse& use, Quota quota) {
  switch (quota) {
    case Quota::kRequestsPerMinute:
    case Quota::kTokensPerMinute:
      return 0;
    case Quota::kRunningJobs:
      return static_cast<double>(use.running_jobs);
    case Quota::kStoredJobs:
      return static_cast<double>(use.stored_jobs);
    case Quota::kStoredBytes:
      return static_cast<double>(use.stored_bytes);
    case Quota::kPagesPerDay:
      return static_cast<double>(use.in_period.pages);
    case Quota::kMachines:
      return static_cast<double>(use.machines);
    case Quota::kVcpu:
      return use.vcpu;
    case Quota::kMemoryMib:
      return static_cast<double>(use.memory_mib);
    case Quota::kStorageGib:
      return static_cast<double>(use.storage_gib);
    case Quota::kSshSessions:
      return static_cast<double>(use.ssh_sessions);
  }
  return 0;
}

std::string limit_text(std::int64_t limit) {
  return limit == schemas::kUnlimited ? "unlimited" : std::to_string(limit);
}

json tenant_json(const storage::TenantView& tenant) {
  json use = json::object();
  for (std::size_t i = 0; i < schemas::kQuotaCount; ++i) {
    const Quota quota = static_cast<Quota>(i);
    if (quota != Quota::kRequestsPerMinute && quota != Quota::kTokensPerMinute)
      use[std::string(schemas::name(quota))] = used(tenant.use, quota);
  }
  use["cost_usd"] = schemas::usd(tenant.use.in_period.cost);
  use["reserved_usd"] = schemas::usd(tenant.use.in_period.reserved);
  json out = {{"name", tenant.name},
              {"limits", json::parse(schemas::limits_json(tenant.own))},
              {"effective_limits", json::parse(schemas::limits_json(tenant.limits))},
              {"usage", use}};
  if (tenant.budget) {
    out["budget"] = json::parse(schemas::budget_json(*tenant.budget));
    out["budget_used_usd"] = schemas::usd(tenant.budget_used);
  }
  return out;
}

void print_tenant(const storage::TenantView& tenant) {
  std::printf("%-20s  %14s  %14s  %s\n", "QUOTA", "USED", "LIMIT", "SET BY");
  for (std::size_t i = 0; i < schemas::kQuotaCount; ++i) {
    const Quota quota = static_cast<Quota>(i);
    const bool is_rate = quota == Quota::kRequestsPerMinute || quota == Quota::kTokensPerMinute;
    char figure[32];
    std::snprintf(figure, sizeof figure, "%.10g", used(tenant.use, quota));
    std::printf("%-20s  %14s  %14s  %s\n", std::string(schemas::name(quota)).c_str(), is_rate ? "-" : figure,
                limit_text(tenant.limits.of(quota)).c_str(), tenant.own[quota] ? "tenant" : "default");
  }
  if (!tenant.budget) return;
  const std::string period(schemas::name(tenant.budget->period));
  for (const auto& [name, limit] :
       {std::pair("usd", tenant.budget->hard), std::pair("soft_usd", tenant.budget->soft)}) {
    if (limit)
      std::printf("%-20s  %14.6g  %14.6g  tenant, per %s\n", name, schemas::usd(tenant.budget_used),
                  schemas::usd(*limit), period.c_str());
  }
}

int print_found(const base::Result<storage::TenantView>& tenant, bool as_json) {
  if (!tenant) return fail(tenant.error().message);
  if (as_json) {
    std::cout << tenant_json(*tenant).dump() << '\n';
  } else {
    print_tenant(*tenant);
  }
  return cli::kOk;
}

}  // namespace

int tenants_list(bool as_json, const Flags& flags) {
  return with_store(flags, [&](OpenedStore& opened) {
    const auto tenants = storage::Tenants(*opened.store).list();
    if (!tenants) return fail(tenants.error().message);
    if (!as_json)
      std::printf("%-20s  %12s  %12s  %10s  %8s  %s\n", "TENANT", "RUNNING JOBS", "STORED JOBS", "STORED",
                  "MACHINES", "LIMITS SET");
    for (const storage::TenantView& tenant : *tenants) {
      if (as_json) {
        std::cout << tenant_json(tenant).dump() << '\n';
        continue;
      }
      std::printf(
          "%-20s  %12lld  %12lld  %10s  %8lld  %s\n", tenant.name.c_str(),
          static_cast<long long>(tenant.use.running_jobs), static_cast<long long>(tenant.use.stored_jobs),
          base::short_bytes(tenant.use.stored_bytes).c_str(), static_cast<long long>(tenant.use.machines),
          tenant.own.empty() ? "-" : schemas::limits_json(tenant.own).c_str());
    }
    return static_cast<int>(cli::kOk);
  });
}

int tenants_show(const std::string& name, bool as_json, const Flags& flags) {
  if (!api::is_valid_name(name)) return usage("a tenant's name has 1 to 64 characters of A-Z a-z 0-9 . _ -");
  return with_store(flags, [&](OpenedStore& opened) {
    return print_found(storage::Tenants(*opened.store).find(name), as_json);
  });
}

int tenants_set(const std::string& name, const std::vector<std::string>& arguments, const Flags& flags) {
  if (!api::is_valid_name(name)) return usage("a tenant's name has 1 to 64 characters of A-Z a-z 0-9 . _ -");
  return with_store(flags, [&](OpenedStore& opened) {
    storage::Tenants tenants(*opened.store);
    const auto before = tenants.find(name);
    if (!before) return fail(before.error().message);
    storage::Tenants::Settings settings{before->own, before->budget};
    for (const std::string& argument : arguments) {
      if (const base::Status set = apply_limit(argument, settings.limits, settings.budget); !set)
        return usage(set.error().message);
    }
    remove_empty(settings.budget);
    std::promise<base::Result<bool>> promise;
    tenants.set(
        name, settings, [&](base::Result<bool> done) { promise.set_value(std::move(done)); }, kTenantsActor);
    const auto done = promise.get_future().get();
    if (!done) return fail(done.error().message);
    return print_found(tenants.find(name), false);
  });
}

}  // namespace millrace::app
