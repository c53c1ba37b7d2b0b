#include "app/cli/jobs/queues_command.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <optional>

#include <nlohmann/json.hpp>

#include "app/cli/json_cells.h"
#include "platform/base/bytes.h"
#include "platform/base/clock.h"

namespace millrace::cli {

using nlohmann::json;
namespace {

constexpr std::array<std::size_t, 7> kQueueColumns{8, 9, 9, 9, 9, 9, 9};
constexpr std::array<std::size_t, 5> kWorkerColumns{28, 9, 9, 50, 16};
constexpr std::array<std::size_t, 4> kDeadColumns{8, 28, 9, 41};

template <std::size_t N>
std::string queue_line(const std::array<std::size_t, N>& widths, std::array<std::string, N> cells,
                       const std::string& last) {
  std::string out;
  for (std::size_t i = 0; i < N; ++i) out += padded(std::move(cells.at(i)), widths.at(i)) + "  ";
  return out + last;
}

std::chrono::milliseconds as_ms(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

std::string count_at(const json& of, const char* key) {
  const auto found = of.find(key);
  return found == of.end() ? "-" : plain(*found);
}

// An age: "119s", "2h"; "-" if not known.
std::string age_at(const json& of, const char* key) {
  const auto found = of.find(key);
  if (found == of.end() || !found->is_number()) return "-";
  return base::short_duration(as_ms(found->get<double>()));
}

std::string share_at(const json& of) { return count_at(of, "used") + "/" + count_at(of, "slots"); }

std::string slots_text(const json& worker) {
  std::string out;
  for (const json& each : worker.value("slots", json::array()))
    out += (out.empty() ? "" : " ") + text_at(each, "kind") + " " + share_at(each);
  return out.empty() ? "-" : out;
}

// The time of the gateway's response by the gateway's clock: the worker's last heartbeat plus its age.
std::optional<base::WallTime> requested_at(const json& worker) {
  base::WallTime seen;
  const auto age = worker.find("heartbeat_age_seconds");
  if (age == worker.end() || !age->is_number() || !base::parse_rfc3339(text_at(worker, "seen_at"), seen))
    return std::nullopt;
  return seen + as_ms(age->get<double>());
}

std::optional<base::WallTime> oldest_lease(const json& worker) {
  std::optional<base::WallTime> oldest;
  for (const json& lease : worker.value("leases", json::array())) {
    base::WallTime since;
    if (!base::parse_rfc3339(text_at(lease, "since"), since)) continue;
    oldest = std::min(oldest.value_or(since), since);
  }
  return oldest;
}

// "3, oldest 12s": the number of leases that the worker holds and the age of the oldest one.
std::string leases_text(const json& worker) {
  std::string held = count_at(worker, "leases_held");
  const auto now = requested_at(worker), since = oldest_lease(worker);
  if (!now || !since) return held;
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(*now - *since);
  return held + ", oldest " + base::short_duration(age);
}

// The state of a worker. A draining one still finishes its jobs.
std::string worker_state(const json& worker) {
  if (!worker.value("live", false)) return "lost";
  return worker.value("draining", false) ? "draining" : "live";
}

}  // namespace

std::string queue_header() {
  return queue_line(kQueueColumns, {"KIND", "QUEUED", "RUNNING", "WAITING", "SCHEDULED", "OLDEST", "SLOTS"},
                    "STATE");
}

std::string queue_row(const json& queue) {
  const bool paused = queue.value("paused", false);
  return queue_line(kQueueColumns,
                    {text_at(queue, "kind"), count_at(queue, "queued"), count_at(queue, "running"),
                     count_at(queue, "waiting"), count_at(queue, "scheduled"),
                     age_at(queue, "oldest_queued_seconds"), share_at(queue)},
                    paused ? "paused since " + text_at(queue, "paused_at") : "open");
}

std::string worker_header() {
  return queue_line(kWorkerColumns, {"NAME", "STATE", "HEARTBEAT", "SLOTS", "LEASES"}, "HOST");
}

std::string worker_row(const json& worker) {
  return queue_line(kWorkerColumns,
                    {text_at(worker, "name"), worker_state(worker), age_at(worker, "heartbeat_age_seconds"),
                     slots_text(worker), leases_text(worker)},
                    text_at(worker, "host"));
}

std::string dead_header() { return queue_line(kDeadColumns, {"KIND", "CODE", "JOBS", "NEWEST"}, "ERROR"); }

std::string dead_row(const json& group) {
  const json newest = group.value("newest", json::object());
  const std::string why = text_at(newest.value("error", json::object()), "message");
  return queue_line(kDeadColumns,
                    {text_at(group, "kind"), or_dash(text_at(group, "code")), count_at(group, "jobs"),
                     text_at(newest, "id")},
                    or_dash(why));
}

using nlohmann::json;
namespace {

// A kind of object that is listed and acted on: queues or workers.
struct ObjectKind {
  const char* path;
  const char* words;  // for error texts: "its list of …"
  std::string (*header)();
  std::string (*row)(const json& one);
};
constexpr ObjectKind kQueues{"/v1/admin/queues", "queues", &queue_header, &queue_row};
constexpr ObjectKind kWorkers{"/v1/admin/workers", "workers", &worker_header, &worker_row};
constexpr ObjectKind kDead{"/v1/admin/dead", "dead jobs", &dead_header, &dead_row};

void print_one(const Client& client, const ObjectKind& part, const json& one) {
  std::cout << (client.options().json ? one.dump() : part.row(one)) << '\n';
}

int list_all(const ObjectKind& part, ClientOptions options) {
  Client client(std::move(options));
  const auto answer = client.request("GET", part.path);
  if (!answer.ok) return fail(answer.error);
  const auto items = answer.json->find("items");
  if (items == answer.json->end() || !items->is_array())
    return fail(client.no_gateway(std::string("its list of ") + part.words + " has no `items`"));
  if (!client.options().json) std::cout << part.header() << '\n';
  for (const json& one : *items) print_one(client, part, one);
  return kOk;
}

// Sends the same request for each name and prints the result; the last error decides the exit code.
int print_each(const ObjectKind& part, const std::vector<std::string>& names, const char* act,
               ClientOptions options) {
  Client client(std::move(options));
  int exit_code = kOk;
  for (const std::string& name : names) {
    const auto answer =
        client.request("POST", std::string(part.path) + "/" + percent_encoded(name) + "/" + act);
    if (answer.ok) {
      print_one(client, part, *answer.json);
    } else {
      exit_code = fail(answer.error);
    }
  }
  return exit_code;
}

}  // namespace

int queues_ls(ClientOptions options) { return list_all(kQueues, std::move(options)); }

int queues_pause(const std::vector<std::string>& kinds, ClientOptions options) {
  return print_each(kQueues, kinds, "pause", std::move(options));
}

int queues_resume(const std::vector<std::string>& kinds, ClientOptions options) {
  return print_each(kQueues, kinds, "resume", std::move(options));
}

int workers_ls(ClientOptions options) { return list_all(kWorkers, std::move(options)); }

int workers_drain(const std::vector<std::string>& names, ClientOptions options) {
  return print_each(kWorkers, names, "drain", std::move(options));
}

int jobs_dead(ClientOptions options) { return list_all(kDead, std::move(options)); }

}  // namespace millrace::cli
