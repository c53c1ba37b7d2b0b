#pragma once
#include <memory>
#include <string>

#include "app/commands/completion.h"
#include "platform/base/setting.h"

namespace CLI {
class FormatterBase;
}
namespace millrace::app {

// How --help writes what options take: a word of ours, "N" or "TEXT", and nothing of what the parser checks.
std::shared_ptr<CLI::FormatterBase> help_form();

// "DURATION", "SIZE", "N", "text|json", …: what a setting takes.
std::string value_word(const base::Setting& setting);
// What those words mean; stands below the settings.
inline constexpr const char* kValueWords =
    "DURATION: 500ms, 30s, 5m, 12h or 7d. SIZE: bytes, or 64MiB, 2GiB. LIST: a,b. Each is a variable of the "
    "environment and a key of the file as well: --store.wal-max is MILLRACE_STORE_WAL_MAX and store: "
    "{wal_max: "
    "…}.";

// The page of a top command with its subcommands, as man(1) reads it; without a name that of the program.
// Empty: there is no such command.
std::string manual_page(const CommandNode& root, const std::string& command);

}  // namespace millrace::app
