#pragma once

namespace CLI {
class App;
}

namespace millrace::app {

// The command of a group that lists: `ls`, as help has it; `list` is understood as well.
CLI::App* add_list_command(CLI::App& group, const char* help);

}  // namespace millrace::app
