#include <cstdio>
#include <iostream>

#include <nlohmann/json.hpp>

#include "app/cli/job_text.h"
#include "app/cli/job_waiting.h"
#include "app/cli/jobs_command.h"
#include "app/cli/json_cells.h"
#include "app/cli/partial_file.h"
#include "app/cli/program.h"

namespace millrace::cli {
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

// Of what is read in parts, these can be had before its end.
bool comes_in_parts(const json& job) {
  const std::string kind = text_at(job, "kind");
  return kind == "ocr" || kind == "stt" || kind == "exec";
}

// "queued: no worker has begun it yet", "running, 3/12".
std::string standing_of(Client& client, const json& job) {
  const std::string why = why_it_waits(client, job);
  const std::string done = progress_text(job);
  return text_at(job, "status") + (why.empty() ? "" : ": " + why) + (done == "-" ? "" : ", " + done);
}

int tell_not_yet(Client& client, const JobResultRequest& request) {
  const auto job = client.request("GET", "/v1/jobs/" + percent_encoded(request.job));
  if (!job.ok) return fail(job.error);
  std::cerr << "millrace: not yet (" << standing_of(client, *job.json) << ")\n";
  const std::string options = gateway_options(client.options());
  std::cerr << "`" << program() << " jobs tail " << request.job << options << "` waits for it";
  if (comes_in_parts(*job.json) && !request.partial) std::cerr << "; --partial shows what there is so far";
  std::cerr << '\n';
  return kNotYet;
}

int print_result(const std::string& result) {
  bool written = std::fwrite(result.data(), 1, result.size(), stdout) == result.size();
  if (!result.ends_with('\n')) written = std::fputc('\n', stdout) != EOF && written;
  written = std::fflush(stdout) == 0 && written;
  return written ? kOk : fail("standard output cannot be written");
}

int write_result(const std::string& output, const std::string& result, const ClientOptions& options) {
  auto file = PartialFile::at(output);
  if (!file) return fail(file.error().message);
  file->write(result);
  if (const base::Status finished = file->finish(); !finished) return fail(finished.error().message);
  if (options.json) std::cout << json{{"path", output}, {"bytes", result.size()}}.dump() << '\n';
  return kOk;
}

}  // namespace

int jobs_result(const JobResultRequest& request, ClientOptions options) {
  Client client(std::move(options));
  const auto answer = client.fetch_as_is(result_path(request));
  const bool is_of_a_job = !answer.reply.header("x-millrace-job").empty();
  if (answer.reply.status == kNotThere && is_of_a_job) return tell_not_yet(client, request);
  if (!answer.ok) return fail(answer.error);
  if (request.output.empty() || request.output == kResultToOutput) return print_result(answer.reply.body);
  return write_result(request.output, answer.reply.body, client.options());
}

}  // namespace millrace::cli
