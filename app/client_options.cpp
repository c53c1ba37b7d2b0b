#include "app/client_options.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "app/cli/local_gateway.h"
#include "app/settings.h"

namespace millrace::app {
namespace {

using cli::ClientOptions;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

// The key, if no flag gives it: that of the data directory that --data names, for any gateway, since someone
// has said so; else that of the environment; else the admin key of this machine, for a gateway of this
// machine alone.
void settle(ClientOptions& options) {
  if (options.url.find("://") == std::string::npos) options.url.insert(0, "http://");
  options.key_typed = !options.key.empty();
  if (options.key.empty() && options.data.empty()) options.key = variable("MILLRACE_API_KEY");
  if (!options.key.empty()) return;
  const std::string named = variable("MILLRACE_DATA");
  const std::string usual = named.empty() ? default_data_dir() : named;
  if (options.data.empty() && !cli::is_local_gateway(options.url)) return;
  const std::string path = (options.data.empty() ? usual : options.data) + "/admin.key";
  options.key = first_line(path);
  if (options.key.empty() && !options.data.empty())
    std::cerr << "millrace: " << path << " cannot be read, or holds no key\n";
}

}  // namespace

std::shared_ptr<ClientOptions> add_client_options(CLI::App& command) {
  auto options = std::make_shared<ClientOptions>();
  command.add_option("--url", options->url, "The gateway (default: http://127.0.0.1:8080)")
      ->envname("MILLRACE_URL")
      ->check([](const std::string& url) { return cli::url_problem(url); });
  // Its variable stands behind --data, a flag: not an `envname`, which would look like --key.
  command.add_option("--key", options->key,
                     "API key (Env:MILLRACE_API_KEY; default: DATA/admin.key if readable)");
  command
      .add_option("--data", options->data,
                  "Data directory whose admin.key is used, before MILLRACE_API_KEY and for any --url "
                  "(MILLRACE_DATA: after it, for a loopback one)")
      ->option_text("DIR");
  command.add_flag("--json", options->json, "One JSON object per line on stdout");
  command.add_flag("-q,--quiet", options->quiet, "No progress on stderr");
  command.add_flag("--no-color", options->no_color, "No colours (also NO_COLOR)");
  command.parse_complete_callback([options] { settle(*options); });
  return options;
}

}  // namespace millrace::app
