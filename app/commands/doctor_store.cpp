#include "app/commands/doctor_store.h"

#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "api/admission/keys.h"
#include "app/commands/with_store.h"
#include "app/config/store_options.h"
#include "platform/base/bytes.h"
#include "storage/admin/inspection.h"
#include "storage/data_dir.h"
#include "storage/postgres/inspection.h"
#include "storage/s3/s3_blobs.h"
#include "storage/workers/processes.h"

namespace millrace::app {
namespace {

constexpr std::chrono::milliseconds kClockSkewMax{1'000};
constexpr std::chrono::minutes kOldSnapshot{5};
constexpr std::int64_t kSlowStoreBytes = 1 << 30;  // a check of more is announced

constexpr std::string_view kMissingBeforeStart =
    "If you have the file as it was, put it back before the next start. The next start continues without "
    "these commits (docs/operations.md, Missing commits).";

std::string schema_text(const storage::StoreInspection& found) {
  return "schema " + std::to_string(found.schema) + ", this millrace has " +
         std::to_string(found.newest_schema);
}

std::string store_text(const Settings& settings, const storage::StoreInspection& found) {
  std::string text = settings.data_dir + ", " + base::short_bytes(found.database_bytes) + ", " +
                     std::to_string(found.rows) + " requests and results are intact";
  if (found.log_bytes > 0)
    text += "; it was not closed: the next start recovers " + base::short_bytes(found.log_bytes) + " of log";
  return text;
}

std::string damage_text(const std::vector<std::string>& damage) {
  std::string text = "damaged: ";
  for (const std::string& each : damage) text += (&each == damage.data() ? "" : ", ") + each;
  return damage.size() == storage::kDamageMax ? text + " and more" : text;
}

void report_store(const Settings& settings, const storage::StoreInspection& found, Report& report) {
  if (!found.stuck_lock.empty()) {
    return report.fail("store", "the write lock is held by " + found.stuck_lock,
                       "End or resume that process.");
  }
  if (found.schema > found.newest_schema) {
    return report.fail("store", schema_text(found),
                       "Run the newer millrace, or restore a backup (docs/operations.md, Upgrade).");
  }
  if (!found.missing_commits.empty()) {
    return report.fail("store", found.missing_commits, std::string(kMissingBeforeStart));
  }
  if (!found.damage.empty()) {
    return report.fail("store", damage_text(found.damage),
                       "Run these jobs again and check the disk (docs/operations.md, A damaged row).");
  }
  if (found.noted_missing > 0) {
    return report.warn("store",
                       std::to_string(found.noted_missing) + " commits were missing at an earlier start: " +
                           settings.data_dir + "/missing-commits",
                       "Run the jobs of that time again or restore a newer backup, then remove that file "
                       "(docs/operations.md, Missing commits).");
  }
  found.schema == found.newest_schema
      ? report.ok("store", store_text(settings, found))
      : report.warn("store", schema_text(found), "The next start of `millrace` upgrades it.");
}

void report_secrets(const Settings& settings, const std::map<std::string, std::string>& checks, bool has_keys,
                    Report& report) {
  const auto problems = api::secret_file_problems(settings.secrets_dir, checks, has_keys);
  for (const std::string& problem : problems) report.fail("secrets", problem);
  if (problems.empty() && has_keys) report.ok("secrets", "pepper and secret.key are those of this store");
}

// Leases are counted by the server's clock, but the order of jobs by the clock of the host that accepts them.
void check_server_time(const storage::PostgresInspection& found, Report& report) {
  if (std::chrono::abs(found.server_ahead) < kClockSkewMax) return;
  report.warn("clock",
              "the database's clock differs from this host's by " +
                  std::to_string(std::chrono::abs(found.server_ahead).count()) + " ms",
              "Synchronise the clocks of all hosts (NTP): jobs are ordered by them.");
}

void check_hosts(const Settings& settings, const storage::PostgresInspection& found, Report& report) {
  std::string alive;
  for (const auto& host : found.hosts) {
    if (host.silent >= storage::kProcessTimeout) {
      report.warn("hosts",
                  host.name + " has been silent for " +
                      base::format_duration(std::chrono::floor<std::chrono::seconds>(host.silent)),
                  "Start it again, or wait: it is forgotten after a day. Its machines can be destroyed.");
    } else {
      alive += (alive.empty() ? "" : ", ") + host.name;
    }
  }
  if (!alive.empty()) report.ok("hosts", alive + "; this one is " + settings.host_name);
  if (alive.find(", ") != std::string::npos && !settings.blobs)
    report.fail("blobs", "several hosts share the database, but documents are in this host's folder",
                "Set blobs.url (docs/cluster.md).");
}

void check_postgres(const Settings& settings, Report& report) {
  const auto found = storage::inspect_postgres(settings.store_url);
  if (!found) return report.fail("store", found.error().message, "Correct store.url or the server.");
  const std::string text =
      "PostgreSQL " + found->server_version + ", schema " + std::to_string(found->schema);
  if (found->schema > found->newest_schema)
    return report.fail("store", text + ", this millrace has " + std::to_string(found->newest_schema),
                       "Run the newer millrace.");
  if (found->has_synchronous_standby && !found->standby_is_connected)
    report.fail("store", text + ": its synchronous standby is not connected, so no commit ends",
                "Start the standby, or change synchronous_standby_names to go on with one copy.");
  else if (found->has_synchronous_standby)
    report.ok("store", text + ", with a synchronous standby");
  else
    report.warn("store", text + ": no synchronous standby",
                "If the server's disk is lost, accepted jobs are lost with it; set up a standby.");
  if (!found->may_monitor)
    report.warn("database", "the role of store.url cannot see the sessions of others, such as old snapshots",
                "On the server: GRANT pg_monitor TO the role.");
  check_server_time(*found, report);
  if (found->oldest_snapshot >= kOldSnapshot) {
    report.warn("database",
                "a session has held a snapshot for " + base::format_duration(found->oldest_snapshot) +
                    ", so dead rows are kept",
                "End it: `select pid, query from pg_stat_activity order by xact_start`.");
  }
  if (found->schema < found->newest_schema) return;
  check_hosts(settings, *found, report);
  report_secrets(settings, found->secret_checks, found->has_keys, report);
}

}  // namespace

void check_store(const Settings& settings, Report& report) {
  if (!settings.store_url.empty()) return check_postgres(settings, report);
  if (!holds_store(settings.data_dir)) {
    return report.warn("store", settings.data_dir + ": there is no store yet",
                       "`millrace serve` creates it; --data sets another directory.");
  }
  const std::int64_t bytes = storage::file_bytes(storage::DataDir(settings.data_dir).database);
  if (bytes >= kSlowStoreBytes)
    std::cerr << "millrace: checking a store of " << base::short_bytes(bytes) << ", which may take minutes\n";
  const auto found = storage::inspect_store(settings.data_dir, blob_place(settings));
  if (!found) {
    report.fail("store", found.error().message);
    for (const std::string& problem : api::secret_file_problems(settings.secrets_dir, {}, false))
      report.fail("secrets", problem);
    return;
  }
  report_store(settings, *found, report);
  report_secrets(settings, found->secret_checks, found->has_keys, report);
  const bool is_low = found->disk_free_bytes >= 0 && found->disk_free_bytes < settings.disk_free_min_bytes;
  is_low ? report.fail("disk",
                       std::to_string(found->disk_free_bytes) + " bytes free; store.disk_free_min is " +
                           base::format_bytes(settings.disk_free_min_bytes),
                       "Free some disk, or lower store.disk_free_min.")
         : report.ok("disk", base::short_bytes(found->disk_free_bytes) + " free");
}

void check_blobs(const Settings& settings, Report& report) {
  if (!settings.blobs) return;
  const s3::BucketCheck found = s3::check_bucket(settings.blobs->location, settings.blobs->credentials);
  if (!found.reached)
    return report.fail("blobs", found.reached.error().message,
                       "Start the storage or correct blobs.endpoint.");
  found.accepted ? report.ok("blobs", "the bucket can be listed")
                 : report.fail("blobs", found.accepted.error().message, "Correct it.");
}

}  // namespace millrace::app
