#pragma once
#include <map>
#include <string>

namespace millrace::app {

// Stable exit codes (docs: exit codes of the command line).
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitNotFound = 11,
};

// What every gateway command gets: settings by flag name, without dashes.
using Flags = std::map<std::string, std::string>;

// Runs until SIGTERM or SIGINT; a second one ends at once. `role`: "serve", "api" or "worker".
struct ServeRequest {
  std::string role;
  std::string kinds;  // worker: comma-separated; empty: all
};
int serve(const ServeRequest& request, const Flags& flags);

int config_check(const Flags& flags);
int print_openapi();
int doctor(const Flags& flags);

struct KeyRequest {
  std::string name, tenant = "default", scopes, expires;
};
int keys_create(const KeyRequest& request, const Flags& flags);  // the key alone on stdout, once
int keys_list(bool json, const Flags& flags);
int keys_revoke(const std::string& id, const Flags& flags);  // kExitNotFound: no such key

}  // namespace millrace::app
