#include "app/commands/usage_error.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli/program.h"
#include "app/config/settings.h"
#include "platform/base/nearest.h"

namespace millrace::app {
namespace {

using Commands = std::vector<const CLI::App*>;

Commands below(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* each) { return !each->get_name().empty(); });
}

// The subcommands that help shows.
Commands shown_below(const CLI::App& command) {
  Commands shown = below(command);
  std::erase_if(shown, [](const CLI::App* each) { return each->get_group().empty(); });
  return shown;
}

// The command as typed after the program's name: "jobs ls".
std::string path_of(const CLI::App& command) {
  if (command.get_parent() == nullptr) return {};
  const std::string above = path_of(*command.get_parent());
  return above.empty() ? command.get_name() : above + " " + command.get_name();
}

// The command's help as --help prints it; the usage line has the names of all parent commands.
std::string help_of(const CLI::App& command) {
  std::string above;
  for (const CLI::App* each = command.get_parent(); each != nullptr; each = each->get_parent())
    above.insert(0, above.empty() ? each->get_name() : each->get_name() + " ");
  return command.help(above);
}

// The first unknown word and the command that it was given to. Empty word: none.
struct UnknownWord {
  const CLI::App* command;
  std::string word;
  bool is_flag = false;
};

// Parses the words as CLI11 does, but stops at the first unknown one.
class Reading {
 public:
  explicit Reading(const CLI::App& app) : at_(&app) {}

  UnknownWord first_unread(std::span<const std::string> words) {
    for (const std::string& word : words) {
      if (word == "--") break;
      if (std::exchange(is_value_, false)) continue;
      const bool is_flag = word.size() > 1 && word.starts_with('-');
      if (is_flag ? !take_flag(word) : !take_word(word)) return {at_, word, is_flag};
    }
    return {at_, {}};
  }

 private:
  bool take_flag(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
    const CLI::Option* option = at_->get_option_no_throw(name);
    if (option == nullptr) return false;
    is_value_ = option->get_items_expected_max() > 0 && name == word;
    return true;
  }

  bool take_word(const std::string& word) {
    const Commands commands = below(*at_);
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [&](const CLI::App* each) { return each->check_name(word); });
    if (found == commands.end()) return commands.empty();  // else an argument
    at_ = *found;
    return true;
  }

  const CLI::App* at_;
  bool is_value_ = false;
};

void add_leaves(const CLI::App& command, Commands& out) {
  for (const CLI::App* each : shown_below(command)) {
    out.push_back(each);
    add_leaves(*each, out);
  }
}

// All commands with the nearest name: "show" is a command of jobs and of models.
Commands nearest_commands(const std::string& word, const Commands& commands) {
  std::vector<std::string_view> names;
  names.reserve(commands.size());
  for (const CLI::App* each : commands) names.push_back(each->get_name());
  const std::string_view near = base::nearest(word, names);
  Commands found;
  for (const CLI::App* each : commands) {
    if (!near.empty() && each->get_name() == near) found.push_back(each);
  }
  return found;
}

// Suggests a command of the same group first, then any: "ls" may mean "jobs ls".
std::string near_command(const UnknownWord& unread) {
  const Commands siblings = shown_below(*unread.command);
  Commands near = nearest_commands(unread.word, siblings);
  const bool is_root = unread.command->get_parent() == nullptr;
  if (near.empty() && is_root) {
    Commands all;
    add_leaves(*unread.command, all);
    near = nearest_commands(unread.word, all);
  }
  std::string names;
  if (!near.empty()) {
    for (const CLI::App* each : near) names += (names.empty() ? "`" : " or `") + path_of(*each) + "`";
    return "; did you mean " + names + "?";
  }
  for (const CLI::App* each : siblings) names += (names.empty() ? "" : ", ") + each->get_name();
  return "; there are: " + names;
}

// "`ocr.languages`" for "--languages" and "--ocr.languages". Empty: no setting has that name.
std::string setting_named(const std::string& flag) {
  for (const base::Setting& setting : settings_table()) {
    const std::string name = "." + base::flag_name(setting);
    if (flag.size() > 3 && name.ends_with("." + flag.substr(2))) return "`" + std::string(setting.path) + "`";
  }
  return {};
}

std::string near_flag(const UnknownWord& unread) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : unread.command->get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  const std::vector<std::string_view> names(flags.begin(), flags.end());
  const std::string_view near = base::nearest(unread.word.substr(0, unread.word.find('=')), names);
  if (!near.empty()) return "; did you mean `" + std::string(near) + "`?";
  if (const std::string setting = setting_named(unread.word.substr(0, unread.word.find('=')));
      !setting.empty())
    return "; it is a setting of the gateway: " + setting;
  return below(*unread.command).empty() ? "" : "; flags go after the command";
}

std::string message_of(const UnknownWord& unread) {
  const std::string path = path_of(*unread.command);
  const std::string whose = "`millrace" + (path.empty() ? "" : " " + path) + "` has no ";
  const std::string word = unread.word.substr(0, unread.word.find('='));
  if (unread.is_flag) return whose + "flag " + word + near_flag(unread);
  return whose + "command \"" + unread.word + "\"" + near_command(unread);
}

// Rewrites CLI11's messages, such as "--mock: 1 required TEXT missing", in plain words.
std::string in_words(std::string message) {
  constexpr std::string_view kOne = ": 1 required ", kMissing = " missing";
  const std::size_t at = message.find(kOne);
  if (at == std::string::npos || !message.ends_with(kMissing)) return message;
  return message.substr(0, at) + " needs a value";
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::Error& error,
                        std::span<const std::string> arguments) {
  const UnknownWord unread = Reading(app).first_unread(arguments);
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const bool is_missing = code == CLI::ExitCodes::RequiredError;
  const bool may_be_a_name = is_missing || code == CLI::ExitCodes::ExtrasError;
  const bool is_named = may_be_a_name && !unread.word.empty();
  const bool lacks_command = !is_named && is_missing && !below(*unread.command).empty();
  if (lacks_command) return help_of(*unread.command);
  const std::string path = path_of(*unread.command);
  return "millrace: " + (is_named ? message_of(unread) : in_words(error.what())) + "\n`" + cli::program() +
         (path.empty() ? "" : " " + path) + " --help` lists commands and flags.\n";
}

}  // namespace millrace::app
