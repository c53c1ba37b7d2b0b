#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/client_commands.h"
#include "app/commands.h"
#include "app/settings.h"
#include "app/usage_error.h"

namespace millrace::app {
namespace {

// Every setting as a flag of the command; what was given lands in `flags`.
void add_settings(CLI::App& command, Flags& flags) {
  const auto add = [&](std::string names, const std::string& key, std::string help) {
    command.add_option_function<std::string>(
        std::move(names), [&flags, key](const std::string& value) { flags[key] = value; }, std::move(help));
  };
  add("--config", "config", "Configuration file (default: DATA/millrace.yaml, /etc/millrace/millrace.yaml)");
  for (const base::Setting& setting : settings_table()) {
    const std::string name = base::flag_name(setting);
    std::string names = "--" + name;
    if (!setting.flag_alias.empty()) names += ",--" + std::string(setting.flag_alias);
    std::string help(setting.help);
    if (!setting.default_text.empty()) help += " (default: " + std::string(setting.default_text) + ")";
    add(std::move(names), name, std::move(help));
  }
}

void add_gateway_commands(CLI::App& app, Flags& flags, int& exit_code) {
  for (const auto& [role, text] :
       {std::pair<std::string, std::string>{"serve", "API and all workers in one process"},
        {"api", "The front end only"},
        {"worker", "Workers only"}}) {
    CLI::App* command = app.add_subcommand(role, text);
    add_settings(*command, flags);
    auto request = std::make_shared<ServeRequest>();
    request->role = role;
    if (role == "worker")
      command->add_option("--kinds", request->kinds, "Kinds of jobs to run, ocr,… (default: all)");
    command->callback([request, &flags, &exit_code] { exit_code = serve(*request, flags); });
  }
}

void add_key_commands(CLI::App& app, Flags& flags, int& exit_code) {
  CLI::App* keys = app.add_subcommand("keys", "API keys of a data directory");
  keys->require_subcommand(1);
  auto request = std::make_shared<KeyRequest>();

  CLI::App* create = keys->add_subcommand("create", "Prints a new key, once");
  create->add_option("--name", request->name, "What it is for")->required();
  create->add_option("--tenant", request->tenant, "Whose jobs it sees (default: default)");
  create->add_option("--scopes", request->scopes, "Comma-separated (default: all but admin)");
  create->add_option("--expires", request->expires, "90d, 12h … (default: never)");
  add_settings(*create, flags);
  create->callback([request, &flags, &exit_code] { exit_code = keys_create(*request, flags); });

  CLI::App* list = keys->add_subcommand("list", "Ids, names, tenants and scopes; never the keys");
  auto json = std::make_shared<bool>(false);
  list->add_flag("--json", *json, "As JSON");
  add_settings(*list, flags);
  list->callback([json, &flags, &exit_code] { exit_code = keys_list(*json, flags); });

  CLI::App* revoke = keys->add_subcommand("revoke", "Ends a key, everywhere within a second");
  auto id = std::make_shared<std::string>();
  revoke->add_option("id", *id, "The 8 characters after mr_live_")->required();
  add_settings(*revoke, flags);
  revoke->callback([id, &flags, &exit_code] { exit_code = keys_revoke(*id, flags); });
}

void add_operator_commands(CLI::App& app, Flags& flags, int& exit_code) {
  CLI::App* checkup = app.add_subcommand("doctor", "Checks store, disk, Kafka, engines, sandbox and clock");
  add_settings(*checkup, flags);
  checkup->callback([&] { exit_code = doctor(flags); });

  CLI::App* config = app.add_subcommand("config", "The configuration");
  config->require_subcommand(1);
  CLI::App* check = config->add_subcommand("check", "Effective values with their origin, and every mistake");
  add_settings(*check, flags);
  check->callback([&] { exit_code = config_check(flags); });

  app.add_subcommand("openapi", "Prints the OpenAPI document")->callback([&] {
    exit_code = print_openapi();
  });
}

int run(int argc, char** argv) {
  CLI::App app{"Millrace: a self-hosted compute and AI gateway with a durable job queue", "millrace"};
  app.set_version_flag("--version,-V", "millrace " MILLRACE_VERSION);
  app.require_subcommand(1);
  Flags flags;
  int exit_code = kExitOk;
  add_gateway_commands(app, flags, exit_code);
  add_client_commands(app, exit_code);
  add_key_commands(app, flags, exit_code);
  add_operator_commands(app, flags, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, std::cout, std::cerr);  // --help, --version
    const std::vector<std::string> words(argv + 1, argv + argc);
    std::cerr << usage_error(app, error, words);
    return kExitUsage;
  }
  return exit_code;
}

}  // namespace
}  // namespace millrace::app

int main(int argc, char** argv) {
  try {
    return millrace::app::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "millrace: " << error.what() << '\n';
    return millrace::app::kExitFailed;
  }
}
