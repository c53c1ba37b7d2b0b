#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/cli/cut_off.h"
#include "app/commands/client_commands.h"
#include "app/commands/command_words.h"
#include "app/commands/commands.h"
#include "app/commands/completion.h"
#include "app/commands/help.h"
#include "app/commands/usage_error.h"
#include "app/config/settings.h"
#include "app/preload_watch.h"

namespace millrace::app {
namespace {

// Which settings --help lists. All settings are accepted, because the file and the environment have them,
// too.
enum class Listed { kAll, kData };

// Adds every setting as a flag of the command. Given values are stored in `flags`.
void add_settings(CLI::App& command, Flags& flags, Listed listed = Listed::kAll) {
  const auto add = [&](std::string names, const std::string& key, std::string help, const std::string& word) {
    CLI::Option* option = command.add_option_function<std::string>(
        std::move(names), [&flags, key](const std::string& value) { flags[key] = value; }, std::move(help));
    option->option_text(word);
    const bool is_place = key == "config" || key == "data" || key == "store.url";
    if (listed == Listed::kData && !is_place) option->group("");
  };
  if (listed == Listed::kAll) command.footer(kValueWords);
  add("--config", "config", "Configuration file (default: DATA/millrace.yaml, /etc/millrace/millrace.yaml)",
      "FILE");
  for (const base::Setting& setting : settings_table()) {
    const std::string name = base::flag_name(setting);
    std::string names = "--" + name;
    if (!setting.flag_alias.empty()) names += ",--" + std::string(setting.flag_alias);
    std::string help(setting.help);
    if (!setting.default_text.empty()) help += " (default: " + std::string(setting.default_text) + ")";
    add(std::move(names), name, std::move(help), value_word(setting));
  }
}

void add_gateway_commands(CLI::App& app, Flags& flags, int& exit_code) {
  for (const auto& [role, text] :
       {std::pair<std::string, std::string>{"serve", "Runs the API and all workers in one process"},
        {"api", "Runs the API only"},
        {"worker", "Runs workers only"}}) {
    CLI::App* command = app.add_subcommand(role, text);
    add_settings(*command, flags);
    auto request = std::make_shared<ServeRequest>();
    request->role = role;
    if (role == "worker")
      command->add_option("--kinds", request->kinds, "Kinds of jobs to run, ocr,… (default: all)");
    command->callback([request, &flags, &exit_code] { exit_code = serve(*request, flags); });
  }
}

void add_new_key_commands(CLI::App* keys, Flags& flags, int& exit_code) {
  auto request = std::make_shared<KeyArguments>();

  CLI::App* create = keys->add_subcommand("create", "Creates a key and prints it once");
  create->add_option("--name", request->name, "Name of the key")->required();
  create->add_option("--tenant", request->tenant, "Tenant whose jobs it sees (default: default)");
  create->add_option("--scopes", request->scopes,
                     "Comma-separated (default: all but metrics, tenant:admin, admin)");
  create->add_option("--expires", request->expires, "90d, 12h … (default: never)");
  create->add_option("--ip-ranges", request->ip_ranges,
                     "Where it may be used: 10.0.0.0/8,::1 (default: all)");
  create->add_option("--models", request->models, "Models that it may use: gpt-5,openai/* (default: all)");
  create->add_option("--mcp-servers", request->mcp_servers, "MCP servers: slugs, URLs (default: all)");
  create->add_option("--limits", request->limits,
                     "Its own limits and budget: running_jobs=10,usd=5,period=day (default: none)");
  add_settings(*create, flags, Listed::kData);
  create->callback([request, &flags, &exit_code] { exit_code = keys_create(*request, flags); });

  CLI::App* list = add_list_command(*keys, "Lists ids, names, tenants and scopes, never the keys");
  auto json = std::make_shared<bool>(false);
  list->add_flag("--json", *json, "As JSON");
  add_settings(*list, flags, Listed::kData);
  list->callback([json, &flags, &exit_code] { exit_code = keys_list(*json, flags); });
}

void add_key_set_command(CLI::App* keys, Flags& flags, int& exit_code) {
  CLI::App* set = keys->add_subcommand("set", "Changes a key; it takes effect within a second everywhere");
  auto changed_id = std::make_shared<std::string>();
  auto change = std::make_shared<KeyChangeArguments>();
  set->add_option("id", *changed_id, "The 8 characters after mr_live_")->required();
  set->add_option("--name", change->name, "Name of the key");
  set->add_option("--scopes", change->scopes, "All its scopes, comma-separated");
  set->add_option("--expires", change->expires, "From now: 90d, 12h …; never");
  set->add_option("--ip-ranges", change->ip_ranges, "Where it may be used: 10.0.0.0/8,::1; all");
  set->add_option("--models", change->models, "Models that it may use: gpt-5,openai/*; all");
  set->add_option("--mcp-servers", change->mcp_servers, "MCP servers: slugs, URLs; all");
  set->add_option("--limits", change->limits,
                  "Its own limits and budget: running_jobs=10,machines=default,usd=none; others stay");
  add_settings(*set, flags, Listed::kData);
  set->callback(
      [changed_id, change, &flags, &exit_code] { exit_code = keys_set(*changed_id, *change, flags); });
}

void add_old_key_commands(CLI::App* keys, Flags& flags, int& exit_code) {
  CLI::App* revoke =
      keys->add_subcommand("revoke", "Revokes a key; it takes effect within a second everywhere");
  auto id = std::make_shared<std::string>();
  revoke->add_option("id", *id, "The 8 characters after mr_live_")->required();
  add_settings(*revoke, flags, Listed::kData);
  revoke->callback([id, &flags, &exit_code] { exit_code = keys_revoke(*id, flags); });

  CLI::App* rotate = keys->add_subcommand("rotate", "Replaces a key and prints the new one once");
  auto overlap = std::make_shared<std::string>("24h");
  rotate->add_option("id", *id, "The 8 characters after mr_live_")->required();
  rotate->add_option("--overlap", *overlap, "Time that the old key still works: 24h (default), 0s …");
  add_settings(*rotate, flags, Listed::kData);
  rotate->callback([id, overlap, &flags, &exit_code] { exit_code = keys_rotate(*id, *overlap, flags); });

  CLI::App* accept = keys->add_subcommand(
      "accept-secrets", "Takes the present pepper and secret.key for a store that has lost its own");
  add_settings(*accept, flags, Listed::kData);
  accept->callback([&flags, &exit_code] { exit_code = keys_accept_secrets(flags); });
}

void add_key_commands(CLI::App& app, Flags& flags, int& exit_code) {
  CLI::App* keys = app.add_subcommand("keys", "Manages the API keys of a data directory");
  keys->require_subcommand(1);
  add_new_key_commands(keys, flags, exit_code);
  add_key_set_command(keys, flags, exit_code);
  add_old_key_commands(keys, flags, exit_code);
}

void add_tenant_commands(CLI::App& app, Flags& flags, int& exit_code) {
  CLI::App* tenants =
      app.add_subcommand("tenants", "Manages the tenants of a data directory, their limits and budgets");
  tenants->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  auto name = std::make_shared<std::string>();

  CLI::App* list = add_list_command(*tenants, "Lists tenants with what they use");
  list->add_flag("--json", *json, "As JSON");
  add_settings(*list, flags, Listed::kData);
  list->callback([json, &flags, &exit_code] { exit_code = tenants_list(*json, flags); });

  CLI::App* show =
      tenants->add_subcommand("show", "Prints a tenant's limits and budget, and what it uses of them");
  show->add_option("tenant", *name, "Its name")->required();
  show->add_flag("--json", *json, "As JSON");
  add_settings(*show, flags, Listed::kData);
  show->callback([name, json, &flags, &exit_code] { exit_code = tenants_show(*name, *json, flags); });

  CLI::App* set = tenants->add_subcommand(
      "set", "Sets limits and the budget of a tenant; they apply within a second everywhere");
  auto words = std::make_shared<std::vector<std::string>>();
  set->add_option("tenant", *name, "Its name")->required();
  set->add_option(
         "limits", *words,
         "QUOTA=NUMBER, QUOTA=unlimited or QUOTA=default: machines=4 vcpu=8. The budget in dollars: usd=5 "
         "soft_usd=4 period=day (month, total); usd=none removes it")
      ->required();
  add_settings(*set, flags, Listed::kData);
  set->callback([name, words, &flags, &exit_code] { exit_code = tenants_set(*name, *words, flags); });
}

void add_audit_commands(CLI::App& app, Flags& flags, int& exit_code) {
  CLI::App* audit = app.add_subcommand("audit", "Reads the audit log of a data directory");
  audit->require_subcommand(1);

  CLI::App* verify = audit->add_subcommand("verify", "Verifies the hash chain of all rows");
  add_settings(*verify, flags, Listed::kData);
  verify->callback([&] { exit_code = audit_verify(flags); });

  CLI::App* rows =
      audit->add_subcommand("export", "Prints all rows with their hashes, one JSON object per line");
  auto after = std::make_shared<std::int64_t>(0);
  rows->add_option("--after", *after, "Only rows with a higher number (default: 0)");
  add_settings(*rows, flags, Listed::kData);
  rows->callback([after, &flags, &exit_code] { exit_code = audit_export(*after, flags); });
}

void add_ssh_ca_commands(CLI::App& app, Flags& flags, int& exit_code) {
  CLI::App* ssh_ca =
      app.add_subcommand("ssh-ca", "Manages the SSH authorities of a data directory (docs/ssh.md)");
  ssh_ca->require_subcommand(1);

  CLI::App* show = ssh_ca->add_subcommand("show", "Prints both public keys and how to use them");
  add_settings(*show, flags, Listed::kData);
  show->callback([&] { exit_code = ssh_ca_show(flags); });

  CLI::App* sign = ssh_ca->add_subcommand("sign-host", "Prints a certificate for the key of a host");
  auto request = std::make_shared<HostCertificateRequest>();
  sign->add_option("file", request->file, "The host's ssh_host_ed25519_key.pub (-: standard input)")
      ->required();
  sign->add_option("--names", request->names, "Names that clients connect to: box.example,10.0.0.7")
      ->required();
  sign->add_option("--days", request->days, "Days of validity (default: 365)");
  add_settings(*sign, flags, Listed::kData);
  sign->callback([request, &flags, &exit_code] { exit_code = ssh_ca_sign_host(*request, flags); });

  CLI::App* krl = ssh_ca->add_subcommand("krl", "Writes the revoked certificates, for sshd's RevokedKeys");
  auto file = std::make_shared<std::string>();
  krl->add_option("-o,--output", *file, "File, replaced atomically (-: standard output)")->required();
  add_settings(*krl, flags, Listed::kData);
  krl->callback([file, &flags, &exit_code] { exit_code = ssh_ca_krl(*file, flags); });
}

void add_config_commands(CLI::App& app, Flags& flags, int& exit_code) {
  CLI::App* config = app.add_subcommand("config", "Checks, imports and lists settings");
  config->require_subcommand(1);
  CLI::App* check = config->add_subcommand(
      "check", "Shows every error of the configuration; without one, every value with its source");
  auto all = std::make_shared<bool>(false);
  check->add_flag("--all", *all, "Shows the values even if there are errors");
  add_settings(*check, flags);
  check->callback([all, &flags, &exit_code] { exit_code = config_check(*all, flags); });

  CLI::App* import = config->add_subcommand("import", "Converts a configuration of LiteLLM's proxy");
  auto request = std::make_shared<ConfigImportRequest>();
  import->add_option("file", request->file, "LiteLLM's YAML file, with model_list")->required();
  import->add_option("-o,--output", request->output, "A new file (default: standard output)");
  import->callback([request, &exit_code] { exit_code = config_import(*request); });

  config->add_subcommand("reference", "Prints every setting as Markdown")->callback([&] {
    exit_code = config_reference();
  });
}

// Subcommands of `models`, which the commands of clients have added.
void add_model_commands(CLI::App& app, Flags& flags, int& exit_code) {
  CLI::App* models = app.get_subcommand("models");
  auto request = std::make_shared<ModelPullRequest>();
  const auto add_catalogue = [request](CLI::App& command) {
    command
        .add_option("--catalogue", request->catalogue, "Your own list of models (default: the built-in one)")
        ->option_text("FILE");
  };
  CLI::App* pull =
      models->add_subcommand("pull", "Downloads a model for transcription, and checks its size and SHA-256");
  pull->add_option("name", request->name, "Model, as in whisper-base")->required();
  pull->add_option("--to", request->folder, "Folder for its files (default: DATA/models/NAME)")
      ->option_text("DIR");
  add_catalogue(*pull);
  add_settings(*pull, flags, Listed::kData);
  pull->footer(
      "Prints the rows for millrace.yaml on standard output. A second run continues an interrupted "
      "download.");
  pull->callback([request, &flags, &exit_code] { exit_code = models_pull(*request, flags); });

  CLI::App* catalogue = models->add_subcommand("catalogue", "Lists the models that `models pull` downloads");
  auto json = std::make_shared<bool>(false);
  catalogue->add_flag("--json", *json, "As JSON");
  add_catalogue(*catalogue);
  catalogue->callback(
      [request, json, &exit_code] { exit_code = models_catalogue(request->catalogue, *json); });
}

void add_operator_commands(CLI::App& app, Flags& flags, int& exit_code) {
  CLI::App* checkup = app.add_subcommand("doctor", "Checks store, disk, Kafka, engines, sandbox and clock");
  auto verbose = std::make_shared<bool>(false);
  checkup->add_flag("-v,--verbose", *verbose, "Shows how each part works, also where all is well");
  add_settings(*checkup, flags);
  checkup->callback([verbose, &flags, &exit_code] { exit_code = doctor(*verbose, flags); });

  add_config_commands(app, flags, exit_code);
  app.add_subcommand("openapi", "Prints the OpenAPI document")->callback([&] {
    exit_code = print_openapi();
  });
}

void add_backup(CLI::App& app, Flags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand("backup", "Copies a data directory while the gateway runs");
  auto folder = std::make_shared<std::string>();
  command->add_option("folder", *folder, "Target directory; it must be empty or not exist")->required();
  add_settings(*command, flags, Listed::kData);
  command->callback([folder, &flags, &exit_code] { exit_code = backup(*folder, flags); });
}

void add_store_commands(CLI::App& app, Flags& flags, int& exit_code) {
  CLI::App* store = app.add_subcommand("store", "Moves jobs between SQLite and PostgreSQL");
  store->require_subcommand(1);
  CLI::App* init =
      store->add_subcommand("init", "Creates the schema in the PostgreSQL database of store.url");
  add_settings(*init, flags, Listed::kData);
  init->callback([&] { exit_code = store_init(flags); });
  CLI::App* check =
      store->add_subcommand("check", "Checks the PostgreSQL database of store.url; changes nothing");
  add_settings(*check, flags, Listed::kData);
  check->callback([&] { exit_code = store_check(flags); });
  CLI::App* take = store->add_subcommand(
      "take-bucket",
      "Hands the objects at blobs.url over to the database of store.url, such as a restored copy");
  add_settings(*take, flags, Listed::kData);
  take->callback([&] { exit_code = store_take_bucket(flags); });
  CLI::App* copy = store->add_subcommand(
      "copy", "Moves a stopped store: all rows, and with blobs.url the content of blobs");
  auto target = std::make_shared<std::string>();
  copy->add_option("--to", *target,
                   "URL of an empty PostgreSQL database; sqlite: back into the data directory")
      ->required();
  auto skips_damaged = std::make_shared<bool>(false);
  copy->add_flag("--skip-damaged", *skips_damaged,
                 "Go on without blobs that are missing or damaged in the source");
  add_settings(*copy, flags, Listed::kData);
  copy->callback([target, skips_damaged, &flags, &exit_code] {
    exit_code = store_copy(*target, *skips_damaged, flags);
  });
}

// `manual` is for packagers: help does not list it.
void add_pages(CLI::App& app, int& exit_code) {
  auto name = std::make_shared<std::string>();
  const auto print = [&exit_code](const std::string& text) {
    std::cout << text;
    exit_code = text.empty() ? cli::kUsage : cli::kOk;
  };
  CLI::App* shell = app.add_subcommand("completion", "Prints the completion script for a shell");
  shell->add_option("shell", *name, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  shell->callback([=, &app] { print(completion(command_tree(app), *name)); });
  CLI::App* page = app.add_subcommand("manual", "Prints a page for man(1)")->group("");
  page->add_option("command", *name, "A command (default: the program)");
  page->callback([=, &app] { print(manual_page(command_tree(app), *name)); });
}

int run(int argc, char** argv) {
  CLI::App app{"Millrace: a self-hosted compute and AI gateway with a durable job queue", "millrace"};
  app.set_version_flag("--version,-V", "millrace " MILLRACE_VERSION);
  app.require_subcommand(1);
  app.formatter(help_form());
  Flags flags;
  int exit_code = cli::kOk;
  add_gateway_commands(app, flags, exit_code);
  add_client_commands(app, exit_code);
  add_key_commands(app, flags, exit_code);
  add_tenant_commands(app, flags, exit_code);
  add_audit_commands(app, flags, exit_code);
  add_ssh_ca_commands(app, flags, exit_code);
  add_backup(app, flags, exit_code);
  add_store_commands(app, flags, exit_code);
  add_operator_commands(app, flags, exit_code);
  add_model_commands(app, flags, exit_code);
  add_pages(app, exit_code);
  const std::vector<std::string> words =
      with_command_begun(app, with_true_for_bare_flags(app, std::vector<std::string>(argv + 1, argv + argc)));
  if (const std::string problem = missing_value(app, words); !problem.empty()) {
    std::cerr << problem;
    return cli::kUsage;
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      std::cerr << usage_error(app, error, words);
      return cli::kUsage;
    }
    exit_code = app.exit(error, std::cout, std::cerr);  // --help, --version
  }
  return exit_code == cli::kOk ? cli::finish_output() : exit_code;
}

}  // namespace
}  // namespace millrace::app

// Users get our error messages, not those of libraries.
int main(int argc, char** argv) {
  constexpr int kNotUtf8 = 316;
  millrace::app::end_preload_watch();
  try {
    return millrace::app::run(argc, argv);
  } catch (const nlohmann::json::exception& error) {
    std::cerr << (error.id == kNotUtf8
                      ? "millrace: an argument or an input is not UTF-8 text\n"
                      : "millrace: a reply has an unexpected form; is the gateway of the same version?\n");
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << "millrace: " << error.path1().string() << ": " << error.code().message() << '\n';
  } catch (const std::bad_alloc&) {
    std::cerr << "millrace: not enough memory\n";
  } catch (const std::exception& error) {
    std::cerr << "millrace: " << error.what() << '\n';
  }
  return millrace::cli::kFailed;
}
