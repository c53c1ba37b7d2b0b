#include "app/commands/client_webhook_commands.h"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli/webhooks/webhooks_command.h"
#include "app/commands/client_commands.h"

namespace millrace::app {
namespace {

constexpr const char* kWebhookHelp = "Its id, as `webhooks ls` shows it";

void add_webhook_add(CLI::App& webhooks, int& exit_code) {
  CLI::App* add = webhooks.add_subcommand("add", "Adds a URL that events are sent to, and prints its secret");
  auto request = std::make_shared<cli::WebhookAddRequest>();
  add->add_option("url", request->url, "https URL of the receiver")->required();
  add->add_option("--events", request->events,
                  "job.succeeded, job.*, batch.completed, machine.*, …; separated by commas (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  add->add_option("--kinds", request->kinds,
                  "Only jobs of these kinds: ocr, stt, chat, exec; separated by commas (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  auto options = add_client_options(*add);
  add->footer("The secret is shown only now. Receivers check signatures with it: docs/webhooks.md.");
  add->callback([=, &exit_code] { exit_code = cli::webhooks_add(*request, *options); });
}

// A command for one webhook.
void add_of_webhook(CLI::App& webhooks, const char* name, const char* help,
                    int (*act)(const std::string&, cli::ClientOptions), int& exit_code) {
  CLI::App* command = webhooks.add_subcommand(name, help);
  auto webhook = std::make_shared<std::string>();
  command->add_option("webhook", *webhook, kWebhookHelp)->required();
  auto options = add_client_options(*command);
  command->callback([=, &exit_code] { exit_code = act(*webhook, *options); });
}

void add_of_webhooks(CLI::App& group, const char* name, const char* help,
                     int (*act)(const std::vector<std::string>&, cli::ClientOptions), int& exit_code) {
  CLI::App* command = group.add_subcommand(name, help);
  auto webhooks = std::make_shared<std::vector<std::string>>();
  command->add_option("webhooks", *webhooks, "Ids, as `webhooks ls` shows them")->required();
  auto options = add_client_options(*command);
  command->callback([=, &exit_code] { exit_code = act(*webhooks, *options); });
}

void add_webhook_log(CLI::App& webhooks, int& exit_code) {
  constexpr int kRowsMax = 1'000'000;
  CLI::App* list = webhooks.add_subcommand("deliveries", "Lists what was sent, newest first");
  auto webhook = std::make_shared<std::string>();
  auto limit = std::make_shared<int>(50);
  list->add_option("webhook", *webhook, kWebhookHelp)->required();
  list->add_option("--limit", *limit, "Maximum number (default: 50)")->check(CLI::Range(1, kRowsMax));
  auto list_options = add_client_options(*list);
  list->callback([=, &exit_code] { exit_code = cli::webhooks_deliveries(*webhook, *limit, *list_options); });

  CLI::App* again = webhooks.add_subcommand("redeliver", "Sends a delivery again, with the same id");
  auto of = std::make_shared<std::string>(), delivery = std::make_shared<std::string>();
  again->add_option("webhook", *of, kWebhookHelp)->required();
  again->add_option("delivery", *delivery, "Its id, as `webhooks deliveries` shows it")->required();
  auto again_options = add_client_options(*again);
  again->callback([=, &exit_code] { exit_code = cli::webhooks_redeliver(*of, *delivery, *again_options); });
}

}  // namespace

void add_webhook_client_commands(CLI::App& app, int& exit_code) {
  CLI::App* webhooks = app.add_subcommand("webhooks", "URLs that a running gateway sends events to");
  webhooks->require_subcommand(1);
  add_webhook_add(*webhooks, exit_code);
  CLI::App* ls = add_list_command(*webhooks, "Lists webhooks, newest first");
  auto list_options = add_client_options(*ls);
  ls->callback([=, &exit_code] { exit_code = cli::webhooks_ls(*list_options); });
  add_of_webhook(*webhooks, "test", "Sends a test event and waits for the receiver's answer",
                 &cli::webhooks_test, exit_code);
  add_of_webhooks(*webhooks, "rm", "Deletes webhooks with what waits for them", &cli::webhooks_rm, exit_code);
  add_of_webhooks(*webhooks, "enable", "Sends events again, and what has waited", &cli::webhooks_enable,
                  exit_code);
  add_of_webhooks(*webhooks, "disable", "Sends nothing until they are enabled again", &cli::webhooks_disable,
                  exit_code);
  add_of_webhook(*webhooks, "rotate", "Makes a new secret; the one before signs, too, for webhooks.rotation",
                 &cli::webhooks_rotate, exit_code);
  add_webhook_log(*webhooks, exit_code);
}

}  // namespace millrace::app
