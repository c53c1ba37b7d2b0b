#include "app/help_form.h"

#include <sstream>

#include <CLI/CLI.hpp>

namespace millrace::app {
namespace {

class HelpForm final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (!option->get_option_text().empty()) return " " + option->get_option_text();
    if (option->get_type_size() == 0) return {};
    std::string out = " " + word_of(option->get_type_name());
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) out += " ...";
    if (option->get_required() && !option->get_positional()) out += " (required)";
    if (!option->get_envname().empty()) out += " (Env:" + option->get_envname() + ")";
    return out;
  }

  // Its one name: what else is understood is not listed.
  std::string make_subcommand(const CLI::App* command) const override {
    std::stringstream out;
    CLI::detail::format_help(out, command->get_name(), command->get_description(), get_column_width());
    return out.str();
  }

 private:
  // "INT:INT in [1 - 100]", "TEXT:{text,srt}".
  static std::string word_of(const std::string& type) {
    std::string word = type.substr(0, type.find(':'));
    return word == "INT" || word == "UINT" || word == "FLOAT" ? "N" : word;
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_form() { return std::make_shared<HelpForm>(); }

std::string value_word(const base::Setting& setting) {
  if (!setting.choices.empty()) return std::string(setting.choices);
  if (setting.path == "data") return "DIR";
  if (setting.path == "ready_file") return "FILE";
  if (setting.path.ends_with("listen") && setting.path != "ssh.listen") return "HOST:PORT";
  switch (setting.type) {
    case base::SettingType::kString:
      return "TEXT";
    case base::SettingType::kBool:
      return "true|false";
    case base::SettingType::kInteger:
      return "N";
    case base::SettingType::kBytes:
      return "SIZE";
    case base::SettingType::kDuration:
      return "DURATION";
    case base::SettingType::kList:
      return "LIST";
  }
  return {};
}

}  // namespace millrace::app
