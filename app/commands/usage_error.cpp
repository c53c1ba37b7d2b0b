#include "app/commands/usage_error.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli/program.h"
#include "app/commands/command_words.h"
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

enum class WordKind : std::uint8_t {
  kCommand,
  kFlag,
  kArgument,     // one more than the command takes
  kFlagAsValue,  // the word after `flag`, which needs a value
};

// The first word that cannot be read, and the command that it was given to. Empty word: none.
struct UnknownWord {
  const CLI::App* command;
  std::string word;
  WordKind kind = WordKind::kCommand;
  std::string flag = {};
};

// How many arguments the command takes.
std::size_t arguments_max(const CLI::App& command) {
  std::size_t most = 0;
  for (const CLI::Option* option :
       command.get_options([](const CLI::Option* o) { return o->get_positional(); }))
    most += static_cast<std::size_t>(option->get_items_expected_max());
  return most;
}

// Parses the words as CLI11 does, but stops at the first unknown one.
class Reading {
 public:
  explicit Reading(const CLI::App& app) : at_(&app) {}

  UnknownWord first_unread(std::span<const std::string> words) {
    for (const std::string& word : words) {
      const std::string flag = std::exchange(needs_value_, {});
      if (!flag.empty() && word.starts_with("--")) return {at_, word, WordKind::kFlagAsValue, flag};
      if (word == "--") break;
      if (!flag.empty()) continue;
      const bool is_flag = word.size() > 1 && word.starts_with('-');
      if (is_flag ? !take_flag(word) : !take_word(word)) return {at_, word, kind_of(is_flag)};
    }
    return {at_, {}};
  }

 private:
  WordKind kind_of(bool is_flag) const {
    if (is_flag) return WordKind::kFlag;
    return below(*at_).empty() ? WordKind::kArgument : WordKind::kCommand;
  }

  bool take_flag(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
    if (at_->get_option_no_throw(name) == nullptr) return false;
    if (expects_value(*at_, word)) needs_value_ = word;
    return true;
  }

  bool take_word(const std::string& word) {
    const Commands commands = below(*at_);
    if (commands.empty()) return arguments_++ < arguments_max(*at_);
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [&](const CLI::App* each) { return each->check_name(word); });
    if (found == commands.end()) return false;
    at_ = *found;
    return true;
  }

  const CLI::App* at_;
  std::string needs_value_;  // the flag whose value is the next word
  std::size_t arguments_ = 0;
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

// "Usage: millrace jobs ls [OPTIONS]" of the command's help.
std::string usage_of(const CLI::App& command) {
  const std::string help = help_of(command);
  const std::size_t begin = help.find("Usage: ");
  return begin == std::string::npos ? "" : help.substr(begin, help.find('\n', begin) - begin);
}

bool shows_flag(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option != nullptr && !option->get_group().empty();
}

// A file or folder that was given without its flag.
std::string near_argument(const UnknownWord& unread) {
  std::error_code unknown;
  const bool is_folder = std::filesystem::is_directory(unread.word, unknown);
  const std::string flag = is_folder ? "--data" : "--config";
  const bool is_named = is_folder || unread.word.ends_with(".yaml") || unread.word.ends_with(".yml");
  if (!is_named || !shows_flag(*unread.command, flag)) return ". " + usage_of(*unread.command);
  return "; did you mean `" + flag + " " + cli::shell_word(unread.word) + "`?";
}

std::string message_of(const UnknownWord& unread) {
  const std::string path = path_of(*unread.command);
  const std::string command = "`millrace" + (path.empty() ? "" : " " + path) + "`";
  const std::string word = unread.word.substr(0, unread.word.find('='));
  switch (unread.kind) {
    case WordKind::kFlagAsValue:
      return unread.flag + " needs a value, but " + unread.word + " follows; if this is the value, write `" +
             unread.flag + (unread.flag.starts_with("--") ? "=" : "") + cli::shell_word(unread.word) + "`";
    case WordKind::kArgument:
      return command + " takes " + (arguments_max(*unread.command) == 0 ? "no" : "no further") +
             " argument: \"" + unread.word + "\"" + near_argument(unread);
    case WordKind::kFlag:
      return command + " has no flag " + word + near_flag(unread);
    case WordKind::kCommand:
      break;
  }
  return command + " has no command \"" + unread.word + "\"" + near_command(unread);
}

// The text between two others. Empty: they are not in `message`.
std::string between(const std::string& message, std::string_view before, std::string_view after) {
  const std::size_t begin = message.find(before);
  if (begin == std::string::npos) return {};
  const std::size_t end = message.find(after, begin + before.size());
  return end == std::string::npos ? "" : message.substr(begin + before.size(), end - begin - before.size());
}

// Rewrites CLI11's messages, such as "--mock: 1 required TEXT missing", in plain words.
std::string in_words(const std::string& message, const CLI::App& command) {
  const std::string name = message.substr(0, message.find(':'));
  if (message.ends_with(" is required")) return message + ". " + usage_of(command);
  if (message.ends_with(" missing") && message.find(": 1 required ") != std::string::npos)
    return name + " needs a value";
  if (message.find(": At Most 1 required") != std::string::npos) return name + " is given more than once";
  if (const std::string choices = between(message, " not in {", "}"); !choices.empty())
    return message.substr(0, message.find(" not in {")) + " is not one of " + choices;
  if (const std::string flag = between(message, "Could not convert: ", " = "); !flag.empty()) {
    const CLI::Option* option = command.get_option_no_throw(flag);
    const bool is_bare = option != nullptr && option->get_items_expected_max() == 0;
    return flag + (is_bare ? " takes no value: " : " is not a number: ") +
           message.substr(message.find(" = ") + 3);
  }
  if (const std::size_t at = message.find(" excludes "); at != std::string::npos)
    return message.substr(0, at) + " cannot be combined with " + message.substr(at + 10);
  return message;
}

std::string with_help_line(const std::string& message, const CLI::App& command) {
  const std::string path = path_of(command);
  return "millrace: " + message + "\n`" + cli::program() + (path.empty() ? "" : " " + path) +
         " --help` lists commands and flags.\n";
}

}  // namespace

std::string missing_value(const CLI::App& app, std::span<const std::string> arguments) {
  const UnknownWord unread = Reading(app).first_unread(arguments);
  if (unread.word.empty() || unread.kind != WordKind::kFlagAsValue) return {};
  return with_help_line(message_of(unread), *unread.command);
}

std::string usage_error(const CLI::App& app, const CLI::Error& error,
                        std::span<const std::string> arguments) {
  const UnknownWord unread = Reading(app).first_unread(arguments);
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const bool is_missing = code == CLI::ExitCodes::RequiredError;
  const bool may_be_a_name = is_missing || code == CLI::ExitCodes::ExtrasError;
  const bool is_named = may_be_a_name && !unread.word.empty();
  const bool lacks_command = !is_named && is_missing && !below(*unread.command).empty();
  if (lacks_command) return help_of(*unread.command);
  return with_help_line(is_named ? message_of(unread) : in_words(error.what(), *unread.command),
                        *unread.command);
}

}  // namespace millrace::app
