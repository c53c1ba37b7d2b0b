#include "app/client_operator_commands.h"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli/queues_command.h"
#include "app/client_options.h"
#include "app/list_command.h"

namespace millrace::app {
namespace {

void add_list(CLI::App& group, const char* help, int (*act)(cli::ClientOptions), int& exit_code) {
  CLI::App* command = add_list_command(group, help);
  auto options = add_client_options(*command);
  command->callback([=, &exit_code] { exit_code = act(*options); });
}

// A command for one or more things of the house by their names.
struct NamedAct {
  const char* name;
  const char* help;
  const char* word;
  const char* words_help;
  int (*act)(const std::vector<std::string>&, cli::ClientOptions);
};

void add_named(CLI::App& group, const NamedAct& named, int& exit_code) {
  CLI::App* command = group.add_subcommand(named.name, named.help);
  auto names = std::make_shared<std::vector<std::string>>();
  command->add_option(named.word, *names, named.words_help)->required();
  auto options = add_client_options(*command);
  command->callback([=, act = named.act, &exit_code] { exit_code = act(*names, *options); });
}

void add_queues(CLI::App& app, int& exit_code) {
  CLI::App* queues = app.add_subcommand("queues", "Queues of a running gateway (key with scope admin)");
  queues->require_subcommand(1);
  constexpr const char* kKinds = "ocr, stt, chat, exec";
  add_list(*queues, "What waits and runs of each kind, and which are paused", &cli::queues_ls, exit_code);
  add_named(*queues,
            {"pause", "Begins no job of these kinds any more; what runs goes on", "kinds", kKinds,
             &cli::queues_pause},
            exit_code);
  add_named(*queues, {"resume", "Begins them again", "kinds", kKinds, &cli::queues_resume}, exit_code);
}

void add_workers(CLI::App& app, int& exit_code) {
  CLI::App* workers = app.add_subcommand("workers", "Workers of a running gateway (key with scope admin)");
  workers->require_subcommand(1);
  add_list(*workers, "Their slots, and when each was last heard of", &cli::workers_ls, exit_code);
  add_named(*workers,
            {"drain", "They begin nothing new and end what they run; a restart takes that back", "names",
             "Names as `workers ls` has them", &cli::workers_drain},
            exit_code);
}

}  // namespace

void add_operator_client_commands(CLI::App& app, int& exit_code) {
  add_queues(app, exit_code);
  add_workers(app, exit_code);
}

}  // namespace millrace::app
