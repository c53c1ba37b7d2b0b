#include "app/command_tree.h"

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

}  // namespace millrace::app
