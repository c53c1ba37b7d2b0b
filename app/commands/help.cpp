#include "app/commands/help.h"

#include <algorithm>
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

  // Lists only the command's name, without its aliases.
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

namespace {

// Escapes text for roff: no line may begin with a request, and a minus must stay a minus.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += std::string("\\&") + c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string title(const std::string& page, const std::string& help) {
  return ".TH " + page + " 1 \"\" \"millrace " MILLRACE_VERSION "\" \"Millrace\"\n.SH NAME\n" + roff(page) +
         " \\- " + roff(help) + "\n";
}

std::string entry(const std::string& name, const std::string& help) {
  return ".TP\n" + name + "\n" + roff(help.empty() ? "See docs." : help) + "\n";
}

std::string synopsis(const CommandNode& node) {
  std::string out = ".B " + roff(node.path) + "\n";
  if (!node.flags.empty()) out += ".RI [ flags ]\n";
  if (!node.children.empty()) out += ".I command\n";
  for (const CommandWord& word : node.words) out += ".I " + roff(word.name) + "\n";
  return out;
}

std::string flag_entry(const CommandFlag& flag) {
  std::string names;
  for (const std::string& name : flag.names)
    names += (names.empty() ? "" : ", ") + ("\\fB" + roff(name) + "\\fR");
  return entry(names + (flag.value.empty() ? "" : " \\fI" + flag.value + "\\fR"), flag.help);
}

std::string details(const CommandNode& node) {
  std::string out;
  for (const CommandWord& word : node.words) out += entry("\\fI" + roff(word.name) + "\\fR", word.help);
  for (const CommandFlag& flag : node.flags) out += flag_entry(flag);
  if (!node.footer.empty()) out += ".PP\n" + roff(node.footer) + "\n";
  return out;
}

constexpr const char* kFiles =
    ".SH FILES\n.TP\n.I /etc/millrace/millrace.yaml\nThe configuration, unless DATA/millrace.yaml is there.\n"
    ".TP\n.I /var/lib/millrace\nThe data directory of the service and of root; "
    "other users have ~/.local/share/millrace.\n"
    ".SH EXIT STATUS\n0 done, 1 failed, 2 usage, 10 credentials, 11 not found, 12 rate limited, "
    "13 another refusal, 14 server error, 15 no connection, 16 not there yet, "
    "130 interrupted.\n";

std::string program_page(const CommandNode& root) {
  std::string out = title("millrace", root.help) + ".SH SYNOPSIS\n" + synopsis(root) + ".SH COMMANDS\n";
  for (const CommandNode& child : root.children)
    out += entry("\\fB" + roff(child.path) + "\\fR(1)", child.help);
  return out + ".SH FLAGS\n" + details(root) + kFiles;
}

std::string command_page(const CommandNode& node) {
  std::string page = node.path;
  std::replace(page.begin(), page.end(), ' ', '-');
  std::string out = title(page, node.help) + ".SH SYNOPSIS\n" + synopsis(node);
  for (const CommandNode& child : node.children) out += ".br\n" + synopsis(child);
  out += ".SH FLAGS\n" + details(node);
  for (const CommandNode& child : node.children)
    out += ".SH " + roff(child.path) + "\n" + roff(child.help) + "\n" + details(child);
  return out + ".SH SEE ALSO\n.BR millrace (1)\n";
}

}  // namespace

std::string manual_page(const CommandNode& root, const std::string& command) {
  if (command.empty()) return program_page(root);
  for (const CommandNode& child : root.children)
    if (child.path == root.path + " " + command) return command_page(child);
  return {};
}

}  // namespace millrace::app
