#include "app/cli/batches/batches_command.h"

#include <iostream>

#include <nlohmann/json.hpp>

#include "app/cli/batches/batch_object.h"
#include "app/cli/interrupt.h"
#include "app/cli/json_cells.h"
#include "app/cli/program.h"

namespace millrace::cli {

using nlohmann::json;
namespace {

constexpr std::size_t kBatchPageRows = 100;

int not_ended_yet(const json& batch, const ClientOptions& options) {
  const std::string id = text_at(batch, "id");
  std::cerr << "millrace: not yet (" << text_at(batch, "status") << ", " << tally_line(tally_of(batch))
            << ")\n`" << program() << " batch show" << gateway_options(options) << " " << id
            << "` shows how far it is\n";
  return kNotYet;
}

}  // namespace

int batches_ls(ClientOptions options) {
  Client client(std::move(options));
  if (!client.options().json) std::cout << batch_head() << '\n';
  for (std::string after; true;) {
    std::string path = "/v1/batches?limit=" + std::to_string(kBatchPageRows);
    if (!after.empty()) path += "&after=" + percent_encoded(after);
    const auto answer = client.request("GET", path);
    if (!answer.ok) return fail(answer.error);
    const json page = answer.json->value("data", json::array());
    for (const json& batch : page)
      std::cout << (client.options().json ? batch.dump() : batch_row(batch)) << '\n';
    after = text_at(*answer.json, "last_id");
    if (after.empty() || !answer.json->value("has_more", false)) return finish_output();
  }
}

int batches_show(const std::string& batch, ClientOptions options) {
  Client client(std::move(options));
  const auto answer = client.request("GET", path_of_batch(batch));
  if (!answer.ok) return fail(answer.error);
  std::cout << (client.options().json ? answer.json->dump() + "\n" : batch_fields_text(*answer.json));
  return finish_output();
}

int batches_cancel(const std::vector<std::string>& batches, ClientOptions options) {
  Client client(std::move(options));
  int exit_code = kOk;
  for (const std::string& batch : batches) {
    const auto answer = client.request("POST", path_of_batch(batch) + "/cancel");
    if (!answer.ok) {
      exit_code = fail(answer.error);
      continue;
    }
    std::cout << (client.options().json ? answer.json->dump() : batch_row(*answer.json)) << '\n';
  }
  const int printed = finish_output();
  return printed == kOk ? exit_code : printed;
}

int batches_results(const BatchResultsRequest& request, ClientOptions options) {
  if (request.paths.output == request.paths.errors)
    return fail_usage("-o and --errors name the same file; without --errors, it has all lines");
  Interrupt interrupt(kCutOff);
  Client client(std::move(options), &interrupt);
  const auto answer = client.request("GET", path_of_batch(request.batch));
  if (!answer.ok) return fail(answer.error);
  const json& batch = *answer.json;
  const std::string status = text_at(batch, "status");
  if (!is_batch_end(status)) return not_ended_yet(batch, client.options());
  if (status == "failed") {
    fail("its requests are not valid, and none was sent");
    std::cerr << input_errors_text(batch, "input");
    return kRefused;
  }
  Progress progress(client.options().quiet, client.options().no_color);
  RetryWindow retries(progress);
  const auto results = write_results(client, interrupt, retries, batch, request.paths);
  if (results.cut_off) return fail_cut_off(*results.cut_off);
  if (results.error) return fail(*results.error);
  if (request.paths.output != "-") progress.line("The results are in " + request.paths.output);
  for (const std::string& line : failures_text(results.failures)) progress.line("✗ " + line);
  return kOk;
}

}  // namespace millrace::cli
