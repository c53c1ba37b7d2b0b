#include "app/cli/queues_command.h"

#include <iostream>

#include <nlohmann/json.hpp>

#include "app/cli/queue_text.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

// What of the house is listed and told to do something.
struct HousePart {
  const char* path;
  const char* words;  // "its list of …"
  std::string (*header)();
  std::string (*row)(const json& one);
};
constexpr HousePart kQueues{"/v1/admin/queues", "queues", &queue_header, &queue_row};
constexpr HousePart kWorkers{"/v1/admin/workers", "workers", &worker_header, &worker_row};
constexpr HousePart kDead{"/v1/admin/dead", "dead jobs", &dead_header, &dead_row};

void print_one(const Client& client, const HousePart& part, const json& one) {
  std::cout << (client.options().json ? one.dump() : part.row(one)) << '\n';
}

int list_all(const HousePart& part, ClientOptions options) {
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

// The same for each, which is shown as it is then; the last refusal decides the exit code.
int tell_each(const HousePart& part, const std::vector<std::string>& names, const char* act,
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
  return tell_each(kQueues, kinds, "pause", std::move(options));
}

int queues_resume(const std::vector<std::string>& kinds, ClientOptions options) {
  return tell_each(kQueues, kinds, "resume", std::move(options));
}

int workers_ls(ClientOptions options) { return list_all(kWorkers, std::move(options)); }

int workers_drain(const std::vector<std::string>& names, ClientOptions options) {
  return tell_each(kWorkers, names, "drain", std::move(options));
}

int jobs_dead(ClientOptions options) { return list_all(kDead, std::move(options)); }

}  // namespace millrace::cli
