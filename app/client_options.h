#pragma once
#include <memory>

#include "app/cli/client.h"

namespace CLI {
class App;
}

namespace millrace::app {

// --url, --key and how to print, as every client command has them; settled once the command line is read.
std::shared_ptr<cli::ClientOptions> add_client_options(CLI::App& command);

}  // namespace millrace::app
