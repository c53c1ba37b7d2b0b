#include "app/cli/jobs/jobs_command.h"

#include <charconv>
#include <cstdio>
#include <iostream>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/cli/cut_off.h"
#include "app/cli/interrupt.h"
#include "app/cli/jobs/job_history.h"
#include "app/cli/jobs/job_text.h"
#include "app/cli/json_cells.h"
#include "app/cli/partial_file.h"
#include "app/cli/program.h"
#include "app/cli/terminal.h"
#include "platform/base/clock.h"

namespace millrace::cli {

using nlohmann::json;
namespace {

// Pages of 200 events; no job can have more attempts before its deadline.
constexpr int kEventPagesMax = 200;

// The newest event of a job. Null: there is none, or the events cannot be read.
json last_event(Client& client, const std::string& job) {
  std::string cursor;
  for (int page = 0; page < kEventPagesMax; ++page) {
    const auto answer =
        client.request("GET", "/v1/jobs/" + percent_encoded(job) + "/events?limit=200" + cursor);
    if (!answer.ok) return {};
    const json items = answer.json->value("items", json::array());
    const std::string next = answer.json->value("next_cursor", "");
    if (next.empty()) return items.empty() ? json() : items.back();
    cursor = "&cursor=" + percent_encoded(next);
  }
  return {};
}

}  // namespace

std::string waiting_reason(Client& client, const json& job) {
  if (job.value("status", "") != "queued") return {};
  const json last = is_paused(job) ? json() : last_event(client, job.value("id", ""));
  return waiting_text(job, last, base::rfc3339(base::SystemClock().wall()));
}

using nlohmann::json;
namespace {

// Sends the same request for each job; the last error decides the exit code.
int each(const std::vector<std::string>& jobs, const char* method, const std::string& below,
         ClientOptions options) {
  Client client(std::move(options));
  int exit_code = kOk;
  for (const std::string& job : jobs) {
    const auto answer = client.request(method, "/v1/jobs/" + percent_encoded(job) + below);
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
  for (const std::string& pair : request.metadata) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    path += "&metadata." + percent_encoded(pair.substr(0, equals)) + "=" +
            percent_encoded(pair.substr(std::min(equals + 1, pair.size())));
  }
  const bool as_json = client.options().json;
  const bool counts = !as_json && !client.options().quiet;  // those that are not shown
  JobTable table(::isatty(STDOUT_FILENO) != 0 ? terminal_columns() : 0);
  std::size_t shown = 0, seen = 0;
  const auto limit = static_cast<std::size_t>(request.limit);
  std::string cursor;
  while (shown < limit || (counts && seen < std::max(limit, kRowsCountedMax))) {
    const auto answer =
        client.request("GET", path + (cursor.empty() ? "" : "&cursor=" + percent_encoded(cursor)));
    if (!answer.ok) return fail(answer.error);
    const json& page = *answer.json;
    if (!page.contains("items")) return fail(client.no_gateway("its job list has no `items`"));
    const auto& items = page["items"].get_ref<const json::array_t&>();
    const std::size_t fit = std::min(items.size(), limit - shown);
    if (as_json) {
      for (std::size_t i = 0; i < fit; ++i) std::cout << items[i].dump() << '\n';
    } else if (cursor.empty() || fit > 0) {
      std::cout << table.lines({items.begin(), items.begin() + static_cast<std::ptrdiff_t>(fit)})
                << std::flush;
    }
    shown += fit;
    seen += items.size();
    cursor = page.value("next_cursor", "");
    if (cursor.empty()) break;
  }
  if (counts && seen > shown)
    std::cerr << "millrace: "
              << more_rows_text("jobs", shown, seen, cursor.empty(), ", --before shows older ones") << '\n';
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
  if (text_at(shown, "status") == "queued") shown["waiting"] = waiting_reason(client, shown);
  for (const char* state : {"paused", "unserved"}) shown.erase(state);  // shown as `waiting`
  std::cout << job_text(shown);
  return kOk;
}

int jobs_tail(const std::string& job, ClientOptions options) {
  Interrupt interrupt(kCutOff);
  Client client(std::move(options), &interrupt);
  const bool as_json = client.options().json;
  std::int64_t last = 0;
  std::string end;
  JobHistory history;
  std::optional<CutOff> cut_off;
  const std::string path = "/v1/jobs/" + percent_encoded(job);
  for (int tries = 0; tries < kReconnectsMax; ++tries) {
    const auto answer = client.stream(
        path + "/events", last, [&](std::string_view id, std::string_view event, std::string_view data) {
          if (event == "ping") return true;
          std::from_chars(id.data(), id.data() + id.size(), last);
          tries = 0;
          end = event;
          cut_off = print_whole(
              (as_json ? std::string(data) : history.text(json::parse(data, nullptr, false))) + "\n");
          return !cut_off;
        });
    if (!cut_off && is_end(end)) return end == "succeeded" ? kOk : kFailed;
    if (answer.reply.status == 204) return kOk;
    if (!cut_off && answer.error.exit_code != kInterrupted) {
      if (!answer.ok && !answer.error.transient) return fail(answer.error);
      if (!interrupt.wait(kReconnectAfter)) continue;
    }
    const auto ended = cut_off ? ended_text(client, path, job) : std::nullopt;
    if (!cut_off) cut_off = cut_off_by(interrupt);
    if (cut_off)
      return fail_cut_off(*cut_off, ended ? *ended : goes_on_text({job}, gateway_options(client.options())));
    return kInterrupted;
  }
  return fail({kNoConnection, 0, {}, "the connection was lost and could not be restored", {}, true});
}

int jobs_cancel(const std::vector<std::string>& jobs, ClientOptions options) {
  return each(jobs, "POST", "/cancel", std::move(options));
}

int jobs_rm(const std::vector<std::string>& jobs, ClientOptions options) {
  return each(jobs, "DELETE", "", std::move(options));
}

int jobs_retry(const std::vector<std::string>& jobs, ClientOptions options) {
  return each(jobs, "POST", "/retry", std::move(options));
}

using nlohmann::json;
namespace {

constexpr const char* kResultToOutput = "-";
constexpr int kNotThere = 202;

std::string result_path(const JobResultRequest& request) {
  std::string path = "/v1/jobs/" + percent_encoded(request.job) + "/result";
  char between = '?';
  const auto add = [&](const std::string& name, const std::string& value) {
    if (value.empty()) return;
    path += between + name + "=" + percent_encoded(value);
    between = '&';
  };
  add("partial", request.partial ? "true" : "");
  add("pages", request.pages);
  add("format", request.format);
  return path;
}

// True if parts of the result can be read before the job ends.
bool comes_in_parts(const json& job) {
  const std::string kind = text_at(job, "kind");
  return kind == "ocr" || kind == "stt" || kind == "exec";
}

// The job's progress in words: "queued: no worker has begun it yet", "running, 3/12".
std::string progress_of(Client& client, const json& job) {
  const std::string why = waiting_reason(client, job);
  const std::string done = progress_text(job);
  if (const std::string run_at = text_at(job, "run_at"); !run_at.empty()) return "scheduled for " + run_at;
  return text_at(job, "status") + (why.empty() ? "" : ": " + why) + (done == "-" ? "" : ", " + done);
}

int print_not_yet(Client& client, const JobResultRequest& request) {
  const auto job = client.request("GET", "/v1/jobs/" + percent_encoded(request.job));
  if (!job.ok) return fail(job.error);
  std::cerr << "millrace: not yet (" << progress_of(client, *job.json) << ")\n";
  const std::string options = gateway_options(client.options());
  std::cerr << "`" << program() << " jobs tail " << request.job << options << "` waits for it";
  if (comes_in_parts(*job.json) && !request.partial) std::cerr << "; --partial shows the result so far";
  std::cerr << '\n';
  return kNotYet;
}

int print_result(const std::string& result) {
  const auto cut_off = print_whole(result.ends_with('\n') ? result : result + '\n');
  return cut_off ? fail_cut_off(*cut_off) : int{kOk};
}

int write_result(const std::string& output, const std::string& result, const ClientOptions& options) {
  auto file = PartialFile::at(output);
  if (!file) return fail(file.error().message);
  file->write(result);
  if (const base::Status finished = file->finish(); !finished) return fail(finished.error().message);
  if (options.json) std::cout << local_json({{"path", output}, {"bytes", result.size()}}) << '\n';
  return kOk;
}

}  // namespace

int jobs_result(const JobResultRequest& request, ClientOptions options) {
  Client client(std::move(options));
  const auto answer = client.fetch_raw(result_path(request));
  const bool is_of_a_job = !answer.reply.header("x-millrace-job").empty();
  if (answer.reply.status == kNotThere && is_of_a_job) return print_not_yet(client, request);
  if (!answer.ok) return fail(answer.error);
  if (request.output.empty() || request.output == kResultToOutput) return print_result(answer.reply.body);
  return write_result(request.output, answer.reply.body, client.options());
}

}  // namespace millrace::cli
