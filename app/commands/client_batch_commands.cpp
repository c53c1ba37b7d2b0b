#include "app/commands/client_batch_commands.h"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli/batches/batch_make.h"
#include "app/cli/batches/batch_run.h"
#include "app/cli/batches/batches_command.h"
#include "app/commands/client_commands.h"
#include "schemas/batches/batch.h"

namespace millrace::app {
namespace {

std::string cost_problem(const std::string& amount) {
  return schemas::batch_cost_max(amount) ? ""
                                         : "\"" + amount + "\" is not an amount in US dollars, such as 1.50";
}

void add_batch_run(CLI::App& batch, int& exit_code) {
  CLI::App* run = batch.add_subcommand("run", "Runs the requests of a file and writes their results");
  auto request = std::make_shared<cli::BatchRunRequest>();
  run->add_option("requests", request->input, "File with one request per line; - for standard input")
      ->required();
  run->add_option("-o,--output", request->results.output,
                  "File for the results, one line per request; - for standard output (required)")
      ->option_text("FILE")
      ->required();
  run->add_option("--errors", request->results.errors,
                  "File for the lines of requests that failed (default: after the others)")
      ->option_text("FILE");
  run->add_option("--endpoint", request->endpoint,
                  "Path to which every line is a request (default: `url` of the first line)")
      ->option_text("PATH");
  run->add_option("--window", request->window,
                  "Requests that were not sent within this time are not sent, 1m to 7d (default: 24h)")
      ->option_text("TIME");
  run->add_option("--max-cost", request->cost_max, "Sends no request that may exceed this cost of the batch")
      ->option_text("USD")
      ->check(&cost_problem);
  auto options = add_client_options(*run);
  run->footer(
      "A line is {\"custom_id\", \"method\": \"POST\", \"url\", \"body\"}. Ctrl-C exits and the batch "
      "continues; a second Ctrl-C within 2 s cancels it. The same command goes on with its batch until the "
      "results are written; from then on, it makes a new batch.");
  run->callback([=, &exit_code] { exit_code = cli::batch_run(*request, *options); });
}

void add_batch_make(CLI::App& batch, int& exit_code) {
  constexpr int kHoursMost = 87'600;
  CLI::App* make = batch.add_subcommand("make", "Uploads a folder and writes the file of requests for it");
  auto request = std::make_shared<cli::BatchMakeRequest>();
  request->output = "requests.jsonl";
  make->add_option("--ocr", request->documents,
                   "Folder with PDF, PNG, JPEG or WebP to convert to Markdown (required)")
      ->option_text("DIR")
      ->required();
  make->add_option("-o,--output", request->output,
                   "File for the requests; - for standard output (default: requests.jsonl)")
      ->option_text("FILE");
  make->add_option("-m,--model", request->model, "OCR model (default: the local engine)");
  make->add_option("--expire-hours", request->expire_hours,
                   "Deletes the uploaded documents after so many hours (default: never)")
      ->check(CLI::Range(1, kHoursMost));
  auto options = add_client_options(*make);
  make->footer(
      "`custom_id` of a request is the path of its document below the folder. If the command was "
      "interrupted, "
      "the same command uploads only what is missing.");
  make->callback([=, &exit_code] { exit_code = cli::batch_make(*request, *options); });
}

void add_batch_results(CLI::App& batch, int& exit_code) {
  CLI::App* results = batch.add_subcommand("results", "Writes the results of a batch that has ended");
  auto request = std::make_shared<cli::BatchResultsRequest>();
  request->paths.output = "-";
  results->add_option("id", request->batch, "Its id, as `batch ls` shows it")->required();
  results->add_option("-o,--output", request->paths.output, "File for the lines (default: standard output)")
      ->option_text("FILE");
  results
      ->add_option("--errors", request->paths.errors,
                   "File for the lines of requests that failed (default: after the others)")
      ->option_text("FILE");
  auto options = add_client_options(*results);
  results->footer("If the batch has not ended, the exit code is 16.");
  results->callback([=, &exit_code] { exit_code = cli::batches_results(*request, *options); });
}

}  // namespace

void add_batch_client_commands(CLI::App& app, int& exit_code) {
  CLI::App* batch = app.add_subcommand("batch", "Batches: many requests of one file");
  batch->require_subcommand(1);
  add_batch_run(*batch, exit_code);
  add_batch_make(*batch, exit_code);

  CLI::App* ls = add_list_command(*batch, "Lists batches, newest first");
  auto list_options = add_client_options(*ls);
  ls->callback([=, &exit_code] { exit_code = cli::batches_ls(*list_options); });

  CLI::App* show = batch->add_subcommand("show", "Shows one batch with all fields");
  auto shown = std::make_shared<std::string>();
  show->add_option("id", *shown, "Its id, as `batch ls` shows it")->required();
  auto show_options = add_client_options(*show);
  show->callback([=, &exit_code] { exit_code = cli::batches_show(*shown, *show_options); });

  CLI::App* cancel =
      batch->add_subcommand("cancel", "Cancels batches; what has ended stays in their results");
  auto ids = std::make_shared<std::vector<std::string>>();
  cancel->add_option("ids", *ids, "Ids, as `batch ls` shows them")->required();
  auto cancel_options = add_client_options(*cancel);
  cancel->callback([=, &exit_code] { exit_code = cli::batches_cancel(*ids, *cancel_options); });

  add_batch_results(*batch, exit_code);
}

}  // namespace millrace::app
