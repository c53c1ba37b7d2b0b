#include "app/commands/command_words.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <CLI/CLI.hpp>

#include "app/config/settings.h"
#include "platform/base/setting.h"

namespace millrace::app {
namespace {

// How many arguments precede the command; -1: this subcommand runs none.
int arguments_before_command(const CLI::App& at) {
  if (at.get_parent() == nullptr) return -1;
  const bool is_root = at.get_parent()->get_parent() == nullptr;
  if (is_root && at.get_name() == "ssh") return 1;
  return !is_root && at.get_parent()->get_name() == "exec" && at.get_name() == "run" ? 0 : -1;
}

bool takes_value(const CLI::App& at, const std::string& name) {
  const CLI::Option* option = at.get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_max() > 0;
}

const CLI::App* subcommand(const CLI::App& at, const std::string& word) {
  const auto all = at.get_subcommands([](const CLI::App*) { return true; });
  const auto found = std::ranges::find_if(all, [&](const CLI::App* each) { return each->check_name(word); });
  return found == all.end() ? nullptr : *found;
}

// The setting of type bool that the flag sets. Null: there is none.
const base::Setting* bool_setting(const CLI::App& at, const std::string& flag) {
  if (at.get_option_no_throw(flag) == nullptr) return nullptr;
  for (const base::Setting& setting : settings_table()) {
    const bool is_named = flag == "--" + base::flag_name(setting) ||
                          (!setting.flag_alias.empty() && flag == "--" + std::string(setting.flag_alias));
    if (is_named && setting.type == base::SettingType::kBool) return &setting;
  }
  return nullptr;
}

}  // namespace

bool expects_value(const CLI::App& command, const std::string& flag) {
  if (flag.starts_with("--")) return flag.find('=') == std::string::npos && takes_value(command, flag);
  for (std::size_t i = 1; i < flag.size(); ++i) {
    if (takes_value(command, std::string("-") + flag[i])) return i + 1 == flag.size();
  }
  return false;
}

std::vector<std::string> with_true_for_bare_flags(const CLI::App& app, std::vector<std::string> words) {
  const CLI::App* at = &app;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (const base::Setting* setting = bool_setting(*at, words[i]); setting != nullptr) {
      const bool has_value =
          i + 1 < words.size() && !words[i + 1].empty() && base::check_value(*setting, words[i + 1]);
      has_value ? static_cast<void>(++i) : static_cast<void>(words[i] += "=true");
    } else if (words[i].size() > 1 && words[i].starts_with('-')) {
      if (expects_value(*at, words[i])) ++i;
    } else if (const CLI::App* below = subcommand(*at, words[i]); below != nullptr) {
      at = below;
    }
  }
  return words;
}

std::vector<std::string> with_command_begun(const CLI::App& app, std::vector<std::string> words) {
  const CLI::App* at = &app;
  int arguments = 0;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i].size() > 1 && words[i].starts_with('-')) {
      if (expects_value(*at, words[i])) ++i;
    } else if (const CLI::App* below = subcommand(*at, words[i]); below != nullptr) {
      at = below;
    } else if (arguments++ == arguments_before_command(*at)) {
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(i), "--");
      return words;
    }
  }
  return words;
}

}  // namespace millrace::app
