#include "storage/workers/processes.h"

#include <algorithm>
#include <utility>

#include "schemas/machines/machine.h"
#include "storage/db/db.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/sql.h"
#include "storage/workers/workers.h"
#include "storage/writer/readers.h"
#include "storage/writer/writer.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kReportBytes = 512;
constexpr std::chrono::hours kRowLifetime{24};
constexpr const char* kMaintenance = "maintenance";

std::int64_t alive_since(const Tx& tx) { return base::millis(tx.boot - kProcessTimeout); }
// A later report was written before the server's clock went back.
std::int64_t alive_until(const Tx& tx) { return base::millis(tx.boot + kProcessTimeout); }

bool is_name_taken(const Tx& tx, const Process& own) {
  auto s = tx.db.prepare(R"(
      SELECT 1 FROM processes
      WHERE host = ?1 AND data_dir <> ?2 AND seen_boot > ?3 AND seen_boot <= ?4 LIMIT 1)"_sql);
  return s.bind(own.host, own.data_dir, alive_since(tx), alive_until(tx)).step();
}

void write_process(const Tx& tx, const Process& own) {
  tx.db.prepare("DELETE FROM processes WHERE host = ?1 AND id <> ?2 AND seen_boot <= ?3")
      .bind(own.host, own.id, alive_since(tx))
      .run();
  tx.db
      .prepare(R"(
          INSERT INTO processes (id, host, data_dir, version, serves_api, calls_models, runs_machines,
              started_at, seen_boot)
          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
          ON CONFLICT (id) DO UPDATE SET runs_machines = excluded.runs_machines,
              seen_boot = excluded.seen_boot)"_sql)
      .bind(own.id, own.host, own.data_dir, own.version, own.serves_api, own.calls_models, own.runs_machines,
            base::millis(tx.now), base::millis(tx.boot))
      .run();
}

bool take_lease(const Tx& tx, const std::string& host) {
  auto s = tx.db.prepare(R"(
      INSERT INTO leases (name, host, until) VALUES (?1, ?2, ?3)
      ON CONFLICT (name) DO UPDATE SET host = excluded.host, until = excluded.until
      WHERE leases.host = excluded.host OR leases.until <= ?4 OR leases.until > excluded.until)"_sql);
  s.bind(kMaintenance, host, base::millis(tx.boot + kMaintenanceLease), base::millis(tx.boot)).run();
  return s.changes() == 1;
}

void remove_expired(const Tx& tx) {
  const std::int64_t before = base::millis(tx.boot - kRowLifetime);
  tx.db.prepare("DELETE FROM processes WHERE seen_boot < ?1").bind(before).run();
  tx.db.prepare("DELETE FROM worker_slots WHERE worker IN (SELECT name FROM workers WHERE seen_boot < ?1)")
      .bind(before)
      .run();
  tx.db.prepare("DELETE FROM workers WHERE seen_boot < ?1").bind(before).run();
}

void place_at(Db& db, const base::Uuid& machine, const std::string& host) {
  db.prepare("UPDATE machines SET host = ?2 WHERE id = ?1").bind(machine, host).run();
  const std::string lane = schemas::machine_id(machine);
  db.prepare(R"(
      UPDATE jobs SET host = ?2
      WHERE lane_key = ?1 AND status < {first_terminal} AND lane_key IS NOT NULL)"_sql)
      .bind(lane, host)
      .run();
}

void place_all(const Tx& tx, Statement& machines, const std::string& host) {
  for (const base::Uuid& machine : ids(machines)) place_at(tx.db, machine, host);
}

// Machines without a disk that were created while no host ran machines, and those to be destroyed whose host
// has been gone for so long that its rows were removed: what is left of them is on that host.
void take_machines(const Tx& tx, const std::string& host) {
  auto unplaced = tx.db.prepare(R"(
      SELECT id FROM machines
      WHERE host IS NULL AND driver <> {driver_ssh} AND disk = '' AND phase <> {phase_destroyed})"_sql);
  place_all(tx, unplaced, host);
  auto left = tx.db.prepare(R"(
      SELECT id FROM machines
      WHERE host <> '' AND desired = {desired_destroyed} AND phase <> {phase_destroyed}
          AND NOT EXISTS (SELECT 1 FROM processes AS p WHERE p.host = machines.host))"_sql);
  place_all(tx, left, host);
}

// Of a store that had one host before.
void place_ssh_machines(const Tx& tx) {
  auto s = tx.db.prepare(R"(
      SELECT id FROM machines
      WHERE host IS NULL AND driver = {driver_ssh} AND phase <> {phase_destroyed})"_sql);
  place_all(tx, s, "");
}

base::Result<Installation> report_in(Tx& tx, const Process& own) {
  if (is_name_taken(tx, own)) {
    return base::error(base::Code::kInvalidState,
                       "the host name \"" + own.host +
                           "\" is used by another data directory on the same database; set host.name");
  }
  write_process(tx, own);
  Installation found;
  found.maintains = take_lease(tx, own.host);
  if (found.maintains) {
    remove_expired(tx);
    place_ssh_machines(tx);
  }
  if (own.runs_machines) take_machines(tx, own.host);
  auto s = tx.db.prepare(
      "SELECT coalesce(sum(serves_api), 0), coalesce(sum(calls_models), 0) FROM processes "
      "WHERE seen_boot > ?1 AND seen_boot <= ?2");
  s.bind(alive_since(tx), alive_until(tx)).step();
  found.api_processes = std::max(1, static_cast<int>(s.integer(0)));
  found.model_processes = std::max(1, static_cast<int>(s.integer(1)));
  return found;
}

base::Result<bool> leave_in(Tx& tx, const base::Uuid& id) {
  tx.db
      .prepare(R"(
          DELETE FROM leases WHERE name = ?2
              AND host = (SELECT host FROM processes WHERE id = ?1)
              AND NOT EXISTS (SELECT 1 FROM processes AS own JOIN processes AS other
                  ON other.host = own.host AND other.id <> own.id AND other.seen_boot > ?3
                  WHERE own.id = ?1))"_sql)
      .bind(id, kMaintenance, alive_since(tx))
      .run();
  tx.db.prepare("DELETE FROM processes WHERE id = ?1 AND runs_machines = 0").bind(id).run();
  tx.db.prepare("UPDATE processes SET seen_boot = ?2 WHERE id = ?1").bind(id, alive_since(tx)).run();
  return true;
}

ProcessView process_at(const Statement& row) {
  ProcessView view;
  view.process = {.id = row.uuid(0),
                  .host = row.text(1),
                  .data_dir = row.uuid(2),
                  .version = row.text(3),
                  .serves_api = row.integer(4) != 0,
                  .calls_models = row.integer(5) != 0,
                  .runs_machines = row.integer(6) != 0};
  view.started_at = base::wall_from(row.integer(7));
  view.machines = static_cast<int>(row.integer(9));
  view.maintains = row.integer(10) != 0;
  return view;
}

// The hosts that run machines now, the emptiest first.
std::vector<std::string> machine_hosts(const Tx& tx) {
  auto s = tx.db.prepare(R"(
      SELECT p.host, (SELECT count(*) FROM machines AS m
          WHERE m.host = p.host AND m.phase <> {phase_destroyed}) AS placed
      FROM processes AS p WHERE p.runs_machines = 1 AND p.seen_boot > ?1 AND p.seen_boot <= ?2
      GROUP BY p.host ORDER BY placed, p.host)"_sql);
  s.bind(alive_since(tx), alive_until(tx));
  std::vector<std::string> hosts;
  while (s.step()) hosts.push_back(s.text(0));
  return hosts;
}

base::Error not_a_host(const std::string& requested, const std::vector<std::string>& hosts) {
  std::string known;
  for (const std::string& host : hosts) known += (known.empty() ? "" : ", ") + host;
  return base::error(base::Code::kInvalidField,
                     "host: \"" + requested + "\" runs no machines now; " +
                         (known.empty() ? "no host does" : "hosts that do: " + known),
                     "host");
}

}  // namespace

void Processes::report(Process own, Callback<Installation> done) {
  submit_write<Installation>(
      store_.writer(), Writer::Priority::kInteractive, kReportBytes,
      [own = std::move(own)](Tx& tx) { return report_in(tx, own); }, std::move(done));
}

void Processes::leave(base::Uuid id, Callback<bool> done) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, kReportBytes,
      [id](Tx& tx) { return leave_in(tx, id); }, std::move(done));
}

base::Status Processes::adopt_machines(const std::string& host,
                                       const std::function<bool(const base::Uuid&)>& has_disk) {
  auto found = read(store_.readers(), [](Db& db) {
    auto s = db.prepare(
        "SELECT id FROM machines WHERE host IS NULL AND disk <> '' AND phase <> {phase_destroyed}"_sql);
    return ids(s);
  });
  if (!found) return found.error();
  std::erase_if(*found, [&](const base::Uuid& machine) { return !has_disk(machine); });
  if (found->empty()) return {};
  return write_and_wait(store_.writer(), [&found, &host](Tx& tx) -> base::Status {
    for (const base::Uuid& machine : *found) place_at(tx.db, machine, host);
    return {};
  });
}

base::Status Processes::add_worker(const WorkerReport& worker) {
  return write_and_wait(store_.writer(), [&worker](Tx& tx) -> base::Status {
    if (auto is_free = check_worker_name(tx, worker); !is_free) return is_free;
    write_worker(tx, worker);
    return {};
  });
}

base::Result<std::vector<ProcessView>> Processes::list() {
  const base::BootTime boot = store_.clock().boot();
  const base::WallTime now = store_.clock().wall();
  return read(store_.readers(), [&](Db& db) {
    auto s = db.prepare(R"(
        SELECT id, host, data_dir, version, serves_api, calls_models, runs_machines, started_at, seen_boot,
            (SELECT count(*) FROM machines AS m
                WHERE m.host = processes.host AND m.phase <> {phase_destroyed}),
            (SELECT count(*) FROM leases AS l
                WHERE l.name = ?1 AND l.host = processes.host AND l.until > ?2)
        FROM processes ORDER BY host, started_at, id)"_sql);
    s.bind(kMaintenance, base::millis(boot));
    std::vector<ProcessView> all;
    while (s.step()) {
      ProcessView view = process_at(s);
      const auto silent = boot - base::boot_from(s.integer(8));
      view.seen_at = now - silent;
      view.is_alive = std::chrono::abs(silent) < kProcessTimeout;
      all.push_back(std::move(view));
    }
    return all;
  });
}

base::Status place_machine(Tx& tx, const Store::Options& options, schemas::Machine& machine) {
  const std::string requested = machine.host.value_or("");
  if (options.host.empty()) {
    if (requested.empty()) return {};
    return base::error(base::Code::kInvalidField,
                       "host: this gateway has one host; several need store.url (docs/cluster.md)", "host");
  }
  if (machine.driver == schemas::MachineDriver::kSsh) {
    machine.host = "";
    return {};
  }
  const std::vector<std::string> hosts = machine_hosts(tx);
  if (requested.empty()) {
    if (!hosts.empty()) machine.host = hosts.front();
    return {};
  }
  if (std::find(hosts.begin(), hosts.end(), requested) == hosts.end()) return not_a_host(requested, hosts);
  return {};
}

void place_job(Db& db, const base::Uuid& job, const std::optional<std::string>& host) {
  if (host) db.prepare("UPDATE jobs SET host = ?2 WHERE id = ?1").bind(job, *host).run();
}

}  // namespace millrace::storage
