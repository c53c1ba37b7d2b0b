#include "app/cli/jobs_command.h"

#include <charconv>
#include <iostream>

#include <nlohmann/json.hpp>

#include "app/cli/event_text.h"
#include "app/cli/interrupt.h"
#include "app/cli/job_text.h"
#include "app/cli/job_waiting.h"
#include "app/cli/json_cells.h"
#include "platform/base/clock.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

// The same call for each job; the last refusal decides the exit code.
int each(const std::vector<std::string>& jobs, const char* act, ClientOptions options) {
  Client client(std::move(options));
  int exit_code = kOk;
  for (const std::string& job : jobs) {
    const auto answer = client.request("POST", "/v1/jobs/" + percent_encoded(job) + "/" + act);
    if (!answer.ok) {
      exit_code = fail(answer.error);
      continue;
    }
    std::cout << (client.options().json ? answer.json->dump() : job_row(*answer.json)) << '\n';
  }
  return exit_code;
}

}  // namespace

int jobs_ls(const JobsListRequest& request, ClientOptions options) {
  Client client(std::move(options));
  std::string path = "/v1/jobs?limit=" + std::to_string(std::min(request.limit, 200));
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) path += std::string("&") + name + "=" + percent_encoded(value);
  };
  add("kind", request.kind);
  add("status", request.status);
  add("model", request.model);
  add("created_after", request.created_after);
  add("created_before", request.created_before);
  add("q", request.text);
  std::string cursor;
  for (int left = request.limit; left > 0;) {
    const auto answer =
        client.request("GET", path + (cursor.empty() ? "" : "&cursor=" + percent_encoded(cursor)));
    if (!answer.ok) return fail(answer.error);
    const json& page = *answer.json;
    if (!page.contains("items")) return fail(client.no_gateway("its list of jobs has no `items`"));
    if (cursor.empty() && !client.options().json) std::cout << job_header() << '\n';
    for (const json& job : page["items"]) {
      if (left-- <= 0) break;
      std::cout << (client.options().json ? job.dump() : job_row(job)) << '\n';
    }
    cursor = page.value("next_cursor", "");
    if (cursor.empty()) break;
  }
  return kOk;
}

int jobs_show(const std::string& job, ClientOptions options) {
  Client client(std::move(options));
  const std::string path = "/v1/jobs/" + percent_encoded(job);
  const auto answer = client.request("GET", path);
  if (!answer.ok) return fail(answer.error);
  if (client.options().json) {
    std::cout << answer.json->dump() << '\n';
    return kOk;
  }
  json shown = *answer.json;
  if (text_at(shown, "status") == "queued") shown["waiting"] = why_it_waits(client, shown);
  for (const char* said : {"paused", "unserved"}) shown.erase(said);  // `waiting` says it
  std::cout << job_text(shown);
  return kOk;
}

int jobs_tail(const std::string& job, ClientOptions options) {
  Interrupt interrupt;
  Client client(std::move(options), &interrupt);
  const bool as_json = client.options().json;
  std::int64_t last = 0;
  std::string end;
  JobHistory history;
  for (int tries = 0; tries < kReconnectsMax; ++tries) {
    const auto answer = client.stream(
        "/v1/jobs/" + percent_encoded(job) + "/events", last,
        [&](std::string_view id, std::string_view event, std::string_view data) {
          if (event == "ping") return true;
          std::from_chars(id.data(), id.data() + id.size(), last);
          tries = 0;
          end = event;
          std::cout << (as_json ? std::string(data) : history.text(json::parse(data, nullptr, false)))
                    << std::endl;
          return true;
        });
    const bool is_end = end == "succeeded" || end == "failed" || end == "cancelled" || end == "expired";
    if (is_end) return end == "succeeded" ? kOk : kFailed;
    if (answer.reply.status == 204) return kOk;
    if (answer.error.exit_code == kInterrupted) return kInterrupted;
    if (!answer.ok && !answer.error.transient) return fail(answer.error);
    if (interrupt.wait(kReconnectAfter)) return kInterrupted;
  }
  return fail({kNoConnection, 0, {}, "the connection was lost and did not come back", {}, true});
}

int jobs_cancel(const std::vector<std::string>& jobs, ClientOptions options) {
  return each(jobs, "cancel", std::move(options));
}

int jobs_retry(const std::vector<std::string>& jobs, ClientOptions options) {
  return each(jobs, "retry", std::move(options));
}

}  // namespace millrace::cli
