#include "app/list_command.h"

#include <CLI/CLI.hpp>

namespace millrace::app {

CLI::App* add_list_command(CLI::App& group, const char* help) {
  return group.add_subcommand("ls", help)->alias("list");
}

}  // namespace millrace::app
