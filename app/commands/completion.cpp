#include "app/commands/completion.h"

#include <functional>

#include <CLI/CLI.hpp>

namespace millrace::app {
namespace {

CommandFlag flag_of(const CLI::Option& option) {
  CommandFlag flag;
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  if (option.get_items_expected_max() > 0) flag.value = "VALUE";
  flag.help = option.get_description();
  return flag;
}

CommandNode node_of(const CLI::App& app, const std::string& path) {
  CommandNode node{.path = path,
                   .help = app.get_description(),
                   .footer = app.get_footer(),
                   .also = app.get_aliases(),
                   .flags = {},
                   .words = {},
                   .children = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (!option->nonpositional()) {
      const bool many = option->get_items_expected_max() > 1;
      node.words.push_back({option->get_name() + (many ? " ..." : ""), option->get_description()});
    } else {
      node.flags.push_back(flag_of(*option));
    }
  }
  for (const CLI::App* child :
       app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    node.children.push_back(node_of(*child, path + " " + child->get_name()));
  return node;
}

}  // namespace

CommandNode command_tree(const CLI::App& app) { return node_of(app, app.get_name()); }

namespace {

using Visit = std::function<void(const CommandNode&)>;

void each_command(const CommandNode& node, const Visit& visit) {
  visit(node);
  for (const CommandNode& child : node.children) each_command(child, visit);
}

std::string last_word(const std::string& path) { return path.substr(path.rfind(' ') + 1); }

std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void add_word(std::string& words, const std::string& word) { words += (words.empty() ? "" : " ") + word; }

std::string commands_below(const CommandNode& node) {
  std::string out;
  for (const CommandNode& child : node.children) add_word(out, last_word(child.path));
  return out;
}

std::string flags_of(const CommandNode& node, bool with_value_only) {
  std::string out;
  for (const CommandFlag& flag : node.flags) {
    if (with_value_only && flag.value.empty()) continue;
    for (const std::string& name : flag.names) add_word(out, name);
  }
  return out;
}

// A `case` pattern: the command's path with each alias of its last word.
std::string names_of(const CommandNode& node) {
  std::string out = in_quotes(node.path);
  for (const std::string& word : node.also)
    out += "|" + in_quotes(node.path.substr(0, node.path.rfind(' ') + 1) + word);
  return out;
}

// Shell code for bash and zsh. It determines the command before the cursor (`$path`), its subcommands
// (`$below`), its flags (`$flags`) and the flags that take a value (`$valued`).
std::string steps(const CommandNode& root) {
  std::string out = "    case \"$path $word\" in\n";
  each_command(root, [&](const CommandNode& node) {
    if (node.path != root.path) out += "      " + names_of(node) + ") path=" + in_quotes(node.path) + " ;;\n";
  });
  return out + "    esac\n";
}

std::string offers(const CommandNode& root) {
  std::string out = "  case \"$path\" in\n";
  each_command(root, [&](const CommandNode& node) {
    out += "    " + in_quotes(node.path) + ") below=" + in_quotes(commands_below(node)) +
           " flags=" + in_quotes(flags_of(node, false)) + " valued=" + in_quotes(flags_of(node, true)) +
           " ;;\n";
  });
  return out + "  esac\n";
}

std::string for_bash(const CommandNode& root) {
  return "# Completion of millrace for bash, made by `millrace completion bash`.\n"
         "_millrace() {\n"
         "  local path=millrace below= flags= valued= word i\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=${COMP_WORDS[i]}\n" +
         steps(root) + "  done\n" + offers(root) +
         "  case \" $valued = \" in *\" $before \"*) return ;; esac\n"
         "  [[ $current == = ]] && return\n"
         "  [[ $current == -* ]] && below=$flags\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$below\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F _millrace millrace\n";
}

// `path` must be local: zsh uses that name for the search path.
std::string for_zsh(const CommandNode& root) {
  return "#compdef millrace\n"
         "# Completion of millrace for zsh, made by `millrace completion zsh`.\n"
         "_millrace() {\n"
         "  local -h path=millrace below= flags= valued= word\n"
         "  for word in ${words[2,CURRENT-1]}; do\n" +
         steps(root) + "  done\n" + offers(root) +
         "  case \" $valued \" in *\" ${words[CURRENT-1]} \"*) _files; return ;; esac\n"
         "  [[ ${words[CURRENT]} == -* ]] && below=$flags\n"
         "  [[ -n $below ]] && compadd -- ${=below} || _files\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _millrace ]; then _millrace; else compdef _millrace millrace; fi\n";
}

// A fish condition that is true for the words of this command's path.
std::string condition(const CommandNode& node) {
  const std::size_t first = node.path.find(' ');
  std::string out = first == std::string::npos ? "__fish_use_subcommand"
                                               : "__fish_seen_subcommand_from " + node.path.substr(first + 1);
  const std::size_t second = out.find(' ', out.find(' ') + 1);
  if (second != std::string::npos) out.replace(second, 1, "; and __fish_seen_subcommand_from ");
  for (const std::string& word : node.also) out += " " + word;
  return in_quotes(out);
}

std::string fish_flag(const CommandFlag& flag) {
  std::string out;
  for (const std::string& name : flag.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return out + (flag.value.empty() ? "" : " -r") + " -d " + in_quotes(flag.help);
}

std::string for_fish(const CommandNode& root) {
  std::string out = "# Completion of millrace for fish, made by `millrace completion fish`.\n";
  each_command(root, [&](const CommandNode& node) {
    const std::string line = "complete -c millrace -n " + condition(node);
    for (const CommandNode& child : node.children)
      out += line + " -f -a " + last_word(child.path) + " -d " + in_quotes(child.help) + "\n";
    for (const CommandFlag& flag : node.flags) out += line + fish_flag(flag) + "\n";
  });
  return out;
}

}  // namespace

std::string completion(const CommandNode& root, const std::string& shell) {
  if (shell == "bash") return for_bash(root);
  if (shell == "zsh") return for_zsh(root);
  return shell == "fish" ? for_fish(root) : "";
}

}  // namespace millrace::app
