#include "storage/tenants/tenants.h"

#include <array>
#include <cmath>
#include <utility>

#include "schemas/json/json_text.h"
#include "storage/admin/api_keys.h"
#include "storage/admin/audit.h"
#include "storage/db/db.h"
#include "storage/jobs/job_rows.h"
#include "storage/sql.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

using schemas::Limits;
using schemas::Quota;

struct MachineSum {
  std::int64_t machines = 0, memory_mib = 0, storage_gib = 0;
  double vcpu = 0;
};

MachineSum sum_at(Statement& s) {
  s.step();
  return {
      .machines = s.integer(0), .memory_mib = s.integer(2), .storage_gib = s.integer(3), .vcpu = s.real(1)};
}

MachineSum machines_of_tenant(Db& db, std::string_view tenant) {
  auto s = db.prepare(R"(
      SELECT count(*), coalesce(sum(vcpu), 0.0), coalesce(sum(memory_mib), 0), coalesce(sum(storage_gib), 0)
      FROM machines
      WHERE tenant = ?1 AND phase <> {phase_destroyed})"_sql);
  s.bind(tenant);
  return sum_at(s);
}

// Of the key and all keys that it has replaced.
MachineSum machines_of_key(Db& db, const Owner& owner) {
  const std::string newest = newest_key(db, std::string(owner.key_id));
  auto s = db.prepare(R"(
      WITH RECURSIVE keys (id) AS (
          SELECT coalesce((SELECT id FROM api_keys WHERE id = ?2), ?2) UNION SELECT k.id FROM keys JOIN api_keys AS k ON k.rotated_to = keys.id)
      SELECT count(*), coalesce(sum(vcpu), 0.0), coalesce(sum(memory_mib), 0), coalesce(sum(storage_gib), 0)
      FROM machines
      WHERE tenant = ?1 AND phase <> {phase_destroyed} AND key_id IN (SELECT id FROM keys))"_sql);
  s.bind(owner.tenant, newest);
  return sum_at(s);
}

std::int64_t sessions_of_tenant(Db& db, std::string_view tenant, base::WallTime now) {
  auto s = db.prepare(R"(
      SELECT count(*) FROM ssh_sessions
      WHERE tenant = ?1 AND expires_at > ?2 AND status IN ({ssh_waking}, {ssh_ready}))"_sql);
  s.bind(tenant, base::millis(now)).step();
  return s.integer(0);
}

std::int64_t sessions_of_key(Db& db, const Owner& owner, base::WallTime now) {
  const std::string newest = newest_key(db, std::string(owner.key_id));
  auto s = db.prepare(R"(
      WITH RECURSIVE keys (id) AS (
          SELECT coalesce((SELECT id FROM api_keys WHERE id = ?3), ?3) UNION SELECT k.id FROM keys JOIN api_keys AS k ON k.rotated_to = keys.id)
      SELECT count(*) FROM ssh_sessions
      WHERE tenant = ?1 AND expires_at > ?2 AND key_id IN (SELECT id FROM keys)
          AND status IN ({ssh_waking}, {ssh_ready}))"_sql);
  s.bind(owner.tenant, base::millis(now), newest).step();
  return s.integer(0);
}

// The first quota that the machine raises above its limit. `before`: its size until now; null: it is new.
std::optional<Quota> exceeded(const Limits& limits, const MachineSum& used, const schemas::Machine& machine,
                              const schemas::Machine* before) {
  struct Check {
    Quota quota;
    double used, added;
  };
  const std::array checks = {
      Check{Quota::kMachines, static_cast<double>(used.machines), before ? 0.0 : 1.0},
      Check{Quota::kVcpu, used.vcpu, machine.vcpu - (before ? before->vcpu : 0)},
      Check{Quota::kMemoryMib, static_cast<double>(used.memory_mib),
            static_cast<double>(machine.memory_mib - (before ? before->memory_mib : 0))},
      Check{Quota::kStorageGib, static_cast<double>(used.storage_gib),
            static_cast<double>(machine.storage_gib - (before ? before->storage_gib : 0))}};
  for (const Check& check : checks) {
    if (check.added > 0 && check.used + check.added > static_cast<double>(limits.of(check.quota)))
      return check.quota;
  }
  return std::nullopt;
}

TenantView view_of(Db& db, const Limits& defaults, const std::string& owner, const std::string& own) {
  TenantView view;
  view.own = schemas::limits_of(own);
  view.limits = view.own.or_else(defaults);
  auto s = db.prepare(R"(
      SELECT open_jobs, stored_jobs, stored_bytes FROM quota_usage WHERE owner = ?1
      ORDER BY version DESC LIMIT 1)"_sql);
  if (s.bind(owner).step()) {
    view.use.running_jobs = s.integer(0);
    view.use.stored_jobs = s.integer(1);
    view.use.stored_bytes = s.integer(2);
  }
  return view;
}

void add_machines(QuotaUse& use, const MachineSum& sum) {
  use.machines = sum.machines;
  use.vcpu = sum.vcpu;
  use.memory_mib = sum.memory_mib;
  use.storage_gib = sum.storage_gib;
}

// What a view is made for.
struct Moment {
  base::WallTime now;
  schemas::UsagePeriod period = schemas::UsagePeriod::kDay;
};

QuotaLedger::DayUse used_since(Db& db, const std::string& owner, std::int64_t day) {
  auto s = db.prepare(R"(
      SELECT coalesce(sum(pages), 0), coalesce(sum(cost_nano), 0), coalesce(sum(reserved_nano), 0),
          coalesce(sum(requests), 0), coalesce(sum(tokens), 0), coalesce(sum(audio_ms), 0)
      FROM daily_usage
      WHERE owner = ?1 AND day >= ?2)"_sql);
  s.bind(owner, day).step();
  return {.pages = s.integer(0),
          .cost = s.integer(1),
          .reserved = s.integer(2),
          .requests = s.integer(3),
          .tokens = s.integer(4),
          .audio_ms = s.integer(5)};
}

// Adds what the owner used in the moment's period and in that of its budget.
void add_use(Db& db, TenantView& view, const std::string& owner, const Moment& moment) {
  const std::int64_t today = utc_day(moment.now);
  view.use.in_period = used_since(db, owner, schemas::first_day(moment.period, today));
  if (!view.budget) return;
  const auto use = used_since(db, owner, schemas::first_day(view.budget->period, today));
  view.budget_used = use.cost + use.reserved;
}

TenantView tenant_view(Db& db, const Limits& defaults, const std::string& tenant, const Moment& moment) {
  std::string own = "{}", budget;
  {
    auto s = db.prepare("SELECT limits, coalesce(budget, '') FROM tenants WHERE name = ?1");
    if (s.bind(tenant).step()) {
      own = s.text(0);
      budget = s.text(1);
    }
  }
  const std::string owner = tenant_owner(tenant);
  TenantView view = view_of(db, defaults, owner, own);
  view.name = tenant;
  add_machines(view.use, machines_of_tenant(db, tenant));
  view.use.ssh_sessions = sessions_of_tenant(db, tenant, moment.now);
  view.budget = schemas::budget_of(budget);
  add_use(db, view, owner, moment);
  return view;
}

TenantView key_view(Db& db, const Limits& defaults, const std::string& key_id, const Moment& moment) {
  const std::string newest = newest_key(db, key_id);
  std::string own = "{}", tenant, budget;
  {
    auto s = db.prepare("SELECT limits, tenant, coalesce(budget, '') FROM api_keys WHERE id = ?1");
    if (s.bind(newest).step()) {
      own = s.text(0);
      tenant = s.text(1);
      budget = s.text(2);
    }
  }
  const std::string owner = key_owner(newest);
  TenantView view = view_of(db, defaults, owner, own);
  view.name = key_id;
  add_machines(view.use, machines_of_key(db, {tenant, key_id}));
  view.use.ssh_sessions = sessions_of_key(db, {tenant, key_id}, moment.now);
  view.budget = schemas::budget_of(budget);
  add_use(db, view, owner, moment);
  return view;
}

base::Result<bool> set_in(Tx& tx, const std::string& tenant, const Tenants::Settings& settings,
                          const std::string& actor) {
  if (const base::Status may = check_administrator(tx, actor); !may) return may.error();
  const std::string limits = schemas::limits_json(settings.limits);
  std::optional<std::string> budget;
  if (settings.budget) budget = schemas::budget_json(*settings.budget);
  tx.db
      .prepare(R"(
          INSERT INTO tenants (name, limits, budget, changed_at) VALUES (?1, ?2, ?3, ?4)
          ON CONFLICT (name) DO UPDATE SET limits = excluded.limits, budget = excluded.budget,
              changed_at = excluded.changed_at)"_sql)
      .bind(tenant, limits, budget, base::millis(tx.now))
      .run();
  tx.db.prepare("UPDATE access_version SET version = version + 1").run();
  schemas::JsonObject data;
  data.raw("limits", limits);
  if (budget) data.raw("budget", *budget);
  append_audit(
      tx,
      {.tenant = tenant, .actor = actor, .act = "tenant.limits", .target = tenant, .data = data.finish()});
  return true;
}

}  // namespace

void Tenants::set(std::string tenant, Settings settings, Callback<bool> done, std::string actor) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, 0,
      [tenant = std::move(tenant), settings, actor = std::move(actor)](Tx& tx) {
        return set_in(tx, tenant, settings, actor);
      },
      std::move(done));
}

base::Result<TenantView> Tenants::find(const std::string& tenant, schemas::UsagePeriod period) {
  return read(store_.readers(), [&](Db& db) {
    return tenant_view(db, store_.options().quota_defaults.tenant, tenant, {store_.clock().wall(), period});
  });
}

base::Result<TenantView> Tenants::of_key(const std::string& key_id, schemas::UsagePeriod period) {
  return read(store_.readers(), [&](Db& db) {
    return key_view(db, store_.options().quota_defaults.key, key_id, {store_.clock().wall(), period});
  });
}

base::Result<std::vector<TenantView>> Tenants::list() {
  return read(store_.readers(), [&](Db& db) {
    std::vector<std::string> names;
    {
      auto s = db.prepare("SELECT name FROM tenants UNION SELECT tenant FROM api_keys ORDER BY 1");
      while (s.step()) names.push_back(s.text(0));
    }
    std::vector<TenantView> views;
    views.reserve(names.size());
    for (const std::string& name : names)
      views.push_back(tenant_view(db, store_.options().quota_defaults.tenant, name, {store_.clock().wall()}));
    return views;
  });
}

base::Result<std::int64_t> Tenants::bytes_left(const schemas::JobId& job) {
  return read(store_.readers(), [&](Db& db) {
    const auto row = find_job(db, job.uuid);
    if (!row) return schemas::kUnlimited;
    QuotaLedger ledger(store_.options().quota_defaults, store_.clock().wall());
    return ledger.bytes_left(db, {row->tenant, row->key_id});
  });
}

base::Result<bool> Tenants::has_budget(const Owner& owner) {
  return read(store_.readers(), [&](Db& db) {
    return QuotaLedger(store_.options().quota_defaults, store_.clock().wall()).has_budget(db, owner);
  });
}

base::Status Tenants::check_stored_bytes(const std::string& tenant) {
  const auto refusal = read(store_.readers(), [&](Db& db) {
    QuotaLedger ledger(store_.options().quota_defaults, store_.clock().wall());
    return ledger.refusal(db, {tenant, {}}, {.stored_bytes = 1});
  });
  if (!refusal) return refusal.error();
  return *refusal ? base::Status(**refusal) : base::Status();
}

base::Result<std::unordered_map<std::string, Tenants::Settings>> Tenants::settings() {
  return read(store_.readers(), [&](Db& db) {
    std::unordered_map<std::string, Settings> all;
    auto s = db.prepare("SELECT name, limits, coalesce(budget, '') FROM tenants");
    while (s.step())
      all.emplace(s.text(0), Settings{schemas::limits_of(s.text(1)), schemas::budget_of(s.text(2))});
    return all;
  });
}

std::optional<base::Error> machine_quota_refusal(Tx& tx, const Owner& owner, const schemas::Machine& machine,
                                                 const schemas::Machine* before) {
  const Limits of_tenant = tx.quotas.tenant_limits(tx.db, owner);
  if (const auto quota = exceeded(of_tenant, machines_of_tenant(tx.db, owner.tenant), machine, before))
    return quota_error(*quota, of_tenant.of(*quota), false);
  const Limits of_key = tx.quotas.key_limits(tx.db, owner);
  if (of_key.empty()) return std::nullopt;
  if (const auto quota = exceeded(of_key, machines_of_key(tx.db, owner), machine, before))
    return quota_error(*quota, of_key.of(*quota), true);
  return std::nullopt;
}

std::optional<base::Error> ssh_quota_refusal(Tx& tx, const Owner& owner) {
  const std::int64_t of_tenant = tx.quotas.tenant_limits(tx.db, owner).of(Quota::kSshSessions);
  if (of_tenant != schemas::kUnlimited && sessions_of_tenant(tx.db, owner.tenant, tx.now) >= of_tenant)
    return quota_error(Quota::kSshSessions, of_tenant, false);
  const std::int64_t of_key = tx.quotas.key_limits(tx.db, owner).of(Quota::kSshSessions);
  if (of_key != schemas::kUnlimited && sessions_of_key(tx.db, owner, tx.now) >= of_key)
    return quota_error(Quota::kSshSessions, of_key, true);
  return std::nullopt;
}

std::string machine_key(Db& db, const base::Uuid& machine) {
  auto s = db.prepare("SELECT coalesce(key_id, '') FROM machines WHERE id = ?1");
  return s.bind(machine).step() ? s.text(0) : std::string();
}

}  // namespace millrace::storage
