#include "app/client_commands.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/cli/client.h"
#include "app/cli/exec_command.h"
#include "app/cli/jobs_command.h"
#include "app/cli/local_gateway.h"
#include "app/cli/ocr_command.h"
#include "app/settings.h"

namespace millrace::app {
namespace {

using cli::ClientOptions;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

// The key, if none was given: that of the data directory that --data names, for any gateway, since someone
// has said so; else the admin key of this machine, for a gateway of this machine alone.
void settle(ClientOptions& options) {
  if (options.url.find("://") == std::string::npos) options.url.insert(0, "http://");
  options.key_typed = !options.key.empty() && options.key != variable("MILLRACE_API_KEY");
  if (!options.key.empty()) return;
  const std::string named = variable("MILLRACE_DATA");
  const std::string usual = named.empty() ? default_data_dir() : named;
  if (options.data.empty() && !cli::is_local_gateway(options.url)) return;
  const std::string path = (options.data.empty() ? usual : options.data) + "/admin.key";
  options.key = first_line(path);
  if (options.key.empty() && !options.data.empty())
    std::cerr << "millrace: " << path << " cannot be read, or holds no key\n";
}

// --url, --key and how to print, as every client command has them.
std::shared_ptr<ClientOptions> add_client_options(CLI::App& command) {
  auto options = std::make_shared<ClientOptions>();
  command.add_option("--url", options->url, "The gateway (default: http://127.0.0.1:8080)")
      ->envname("MILLRACE_URL");
  command.add_option("--key", options->key, "API key (default: DATA/admin.key if readable)")
      ->envname("MILLRACE_API_KEY");
  command.add_option(
      "--data", options->data,
      "Data directory whose admin.key is used, for any --url (MILLRACE_DATA: for a loopback one)");
  command.add_flag("--json", options->json, "One JSON object per line on stdout");
  command.add_flag("-q,--quiet", options->quiet, "No progress on stderr");
  command.add_flag("--no-color", options->no_color, "No colours (also NO_COLOR)");
  command.parse_complete_callback([options] { settle(*options); });
  return options;
}

void add_ocr(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("ocr", "Reads PDFs and images into markdown");
  auto request = std::make_shared<cli::OcrRequest>();
  command->add_option("inputs", request->inputs, "Files, and folders with PDF, PNG, JPEG or WebP")
      ->required();
  command->add_option("-o,--output", request->output_folder,
                      "Folder for the markdown (default: standard output)");
  command->add_option("--pages", request->pages, "Zero-based pages, \"0-5,7\" (default: all)");
  command->add_option("--model", request->model, "OCR model (default: the local engine)");
  command->add_flag("--images", request->images, "Write the pictures of each page beside the markdown");
  command->add_option("--in-flight", request->in_flight, "Documents handed in at once (default: 16)")
      ->check(CLI::Range(1, 100));
  auto options = add_client_options(*command);
  command->footer(
      "Run again with the same -o folder, it resumes and skips what is done. Ctrl-C detaches, twice "
      "cancels.");
  command->callback([=, &exit_code] { exit_code = cli::run_ocr(*request, *options); });
}

void add_jobs(CLI::App& app, int& exit_code) {
  CLI::App* jobs = app.add_subcommand("jobs", "Jobs of a running gateway");
  jobs->require_subcommand(1);

  CLI::App* ls = jobs->add_subcommand("ls", "Lists jobs, newest first");
  auto list = std::make_shared<cli::JobsListRequest>();
  ls->add_option("--kind", list->kind, "ocr");
  ls->add_option("--status", list->status, "queued, running, succeeded, failed, cancelled, expired");
  ls->add_option("--model", list->model, "Model asked for");
  ls->add_option("--after", list->created_after, "Created after this RFC 3339 time");
  ls->add_option("--before", list->created_before, "Created before this RFC 3339 time");
  ls->add_option("--text", list->text, "Text in the id");
  ls->add_option("--limit", list->limit, "At most so many (default: 50)")->check(CLI::Range(1, 1'000'000));
  auto list_options = add_client_options(*ls);
  ls->callback([=, &exit_code] { exit_code = cli::jobs_ls(*list, *list_options); });

  const auto add_one = [&](const char* name, const char* help,
                           int (*act)(const std::string&, ClientOptions)) {
    CLI::App* command = jobs->add_subcommand(name, help);
    auto id = std::make_shared<std::string>();
    command->add_option("id", *id, "Job id")->required();
    auto options = add_client_options(*command);
    command->callback([=, &exit_code] { exit_code = act(*id, *options); });
  };
  const auto add_many = [&](const char* name, const char* help,
                            int (*act)(const std::vector<std::string>&, ClientOptions)) {
    CLI::App* command = jobs->add_subcommand(name, help);
    auto ids = std::make_shared<std::vector<std::string>>();
    command->add_option("ids", *ids, "Job ids")->required();
    auto options = add_client_options(*command);
    command->callback([=, &exit_code] { exit_code = act(*ids, *options); });
  };
  add_one("show", "One job, whole", &cli::jobs_show);
  add_one("tail", "Events of a job as they come, until it ends", &cli::jobs_tail);
  add_many("cancel", "Cancels jobs", &cli::jobs_cancel);
  add_many("retry", "Runs failed, expired or cancelled jobs again, each as a new job", &cli::jobs_retry);
}

void add_exec(CLI::App& app, int& exit_code) {
  CLI::App* exec = app.add_subcommand("exec", "Commands on machines");
  exec->require_subcommand(1);

  CLI::App* run = exec->add_subcommand("run", "Runs a command; its output comes while it runs");
  auto request = std::make_shared<cli::ExecRequest>();
  run->add_option("-m,--machine", request->machine, "Machine, by id or name (default: local)");
  run->add_option("-e,--env", request->environment, "NAME=value for the command's environment")
      ->take_all()
      ->allow_extra_args(false);
  run->add_option("--cwd", request->cwd, "Where it runs (default: /workspace)");
  run->add_option("--timeout", request->timeout, "Longest run, such as 10m (the default) or 90s");
  run->add_option("--stdin", request->input, "File for its standard input; - for ours");
  CLI::Option* follow = run->add_flag_callback(
      "--follow", [] {}, "Output while it runs (the default)");
  run->add_flag("-d,--detach", request->detach, "Print the execution's id and leave")->excludes(follow);
  run->add_flag("--exit-status", request->exit_status, "End with the command's own exit code");
  run->add_option("command", request->command, "The command and its arguments, after --")->required();
  auto run_options = add_client_options(*run);
  run->footer("No shell is involved: -- sh -c 'a | b' asks for one. Ctrl-C cancels.");
  run->callback([=, &exit_code] { exit_code = cli::exec_run(*request, *run_options); });

  CLI::App* logs = exec->add_subcommand("logs", "What an execution has written");
  auto logged = std::make_shared<cli::ExecLogsRequest>();
  logs->add_option("id", logged->execution, "Execution id")->required();
  logs->add_option("-m,--machine", logged->machine, "Machine, by id or name (default: local)");
  logs->add_flag("-f,--follow", logged->follow, "On until it ends");
  auto logs_options = add_client_options(*logs);
  logs->callback([=, &exit_code] { exit_code = cli::exec_logs(*logged, *logs_options); });
}

}  // namespace

void add_client_commands(CLI::App& app, int& exit_code) {
  add_ocr(app, exit_code);
  add_jobs(app, exit_code);
  add_exec(app, exit_code);
}

}  // namespace millrace::app
