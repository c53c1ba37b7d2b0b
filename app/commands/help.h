#pragma once
#include <memory>
#include <string>

#include "app/commands/completion.h"
#include "platform/base/setting.h"

namespace CLI {
class FormatterBase;
}
namespace millrace::app {

// The formatter of --help. It shows an option's value as one of our value words, "N" or "TEXT", without the
// parser's checks.
std::shared_ptr<CLI::FormatterBase> help_form();

// The value word of a setting: "DURATION", "SIZE", "N", "text
// json", ….
std::string value_word(const base::Setting& setting);
// Explains the value words; printed below the settings.
inline constexpr const char* kValueWords =
    "DURATION: 500ms, 30s, 5m, 12h or 7d. SIZE: bytes, or 64MiB, 2GiB. LIST: a,b. Each setting is also an "
    "environment variable and a key of the configuration file: --store.wal-max is MILLRACE_STORE_WAL_MAX and "
    "store: {wal_max: …}.";

// The man page (roff) of a top-level command with its subcommands; without a name that of the program. Empty:
// no such command.
std::string manual_page(const CommandNode& root, const std::string& command);

}  // namespace millrace::app
