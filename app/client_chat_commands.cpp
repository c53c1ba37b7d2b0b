#include "app/client_chat_commands.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/cli/chat_command.h"
#include "app/cli/models_command.h"
#include "app/client_options.h"
#include "app/list_command.h"

namespace millrace::app {
namespace {

constexpr int kTokensMost = 1'000'000'000;
constexpr double kHottest = 2;

void add_manner(CLI::App& chat, cli::ChatWish& wish) {
  chat.add_option("-m,--model", wish.model, "Model (default: the only one that chats)");
  chat.add_option("--system", wish.system, "What the model is told about its part");
  chat.add_option("--image", wish.images, "PNG, JPEG, GIF or WebP, or the URL of one; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  chat.add_option("--max-tokens", wish.max_tokens, "Longest answer in tokens, reasoning included")
      ->check(CLI::Range(1, kTokensMost));
  chat.add_option("--temperature", wish.temperature, "0 to 2")->check(CLI::Range(0.0, kHottest));
  chat.add_flag("--no-stream", wish.no_stream, "The answer at once, when it is whole");
  chat.add_flag("-v,--verbose", wish.verbose, "Model, tokens and price on stderr");
}

void add_chat(CLI::App& app, int& exit_code) {
  CLI::App* chat = app.add_subcommand("chat", "Asks a model; its answer comes while it is made");
  auto wish = std::make_shared<cli::ChatWish>();
  add_manner(*chat, *wish);
  CLI::Option* deferred = chat->add_flag("--deferred", wish->deferred, "A job: print its id and leave");
  chat->add_flag("--wait", wish->wait, "With --deferred or --result: until the answer is there");
  CLI::Option* result =
      chat->add_option("--result", wish->result, "The answer of a deferred request, by its id");
  chat->add_option("message", wish->message, "The message; - for standard input (default: standard input)")
      ->excludes(result);
  deferred->excludes(result);
  auto options = add_client_options(*chat);
  chat->footer(
      "Without a message, at a terminal, it is a conversation: a line is a question, Ctrl-C stops the "
      "answer, Ctrl-D ends, /help tells the rest. --json prints each chunk of a stream, or the whole answer, "
      "as a line. --result of an answer that is not there yet ends with exit code 16 where no terminal shows "
      "that it is waited for.");
  chat->callback([=, &exit_code] { exit_code = cli::run_chat(*wish, *options); });
}

void add_models(CLI::App& app, int& exit_code) {
  CLI::App* models = app.add_subcommand("models", "Models of a running gateway");
  models->require_subcommand(1);

  CLI::App* ls = add_list_command(*models, "Lists them, the providers' own lists among them");
  auto list_options = add_client_options(*ls);
  ls->callback([=, &exit_code] { exit_code = cli::models_ls(*list_options); });

  CLI::App* show = models->add_subcommand("show", "One model");
  auto name = std::make_shared<std::string>();
  show->add_option("name", *name, "Model, as in openai/gpt-4.1")->required();
  auto show_options = add_client_options(*show);
  show->callback([=, &exit_code] { exit_code = cli::models_show(*name, *show_options); });
}

}  // namespace

void add_chat_client_commands(CLI::App& app, int& exit_code) {
  add_chat(app, exit_code);
  add_models(app, exit_code);
}

}  // namespace millrace::app
