#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace millrace::app {

// Stable exit codes (docs/jobs.md, Exit codes).
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
int config_reference();  // every setting, as Markdown

// A configuration of LiteLLM in our words, on stdout or into a new file; what cannot be said is on stderr.
struct ConfigImportRequest {
  std::string file;
  std::string output;  // empty or "-": stdout
};
int config_import(const ConfigImportRequest& request);
int print_openapi();
int doctor(const Flags& flags);
// Copies the data directory, which a gateway may use meanwhile, into a folder that is not there yet.
int backup(const std::string& folder, const Flags& flags);

struct KeyRequest {
  std::string name, tenant = "default";
  std::optional<std::string> scopes, expires;  // absent: those of a new key; for ever
};
int keys_create(const KeyRequest& request, const Flags& flags);  // the key alone on stdout, once
int keys_list(bool json, const Flags& flags);
// kExitNotFound: no such key.
int keys_revoke(const std::string& id, const Flags& flags);
// The new key alone on stdout, once; the old one goes on for `overlap`, a duration.
int keys_rotate(const std::string& id, const std::string& overlap, const Flags& flags);

// The audit log of a data directory. kExitFailed: the chain is broken.
int audit_verify(const Flags& flags);
int audit_export(std::int64_t after, const Flags& flags);  // rows after this number, a JSON object per line

// The SSH authorities of a data directory.
struct HostCertificateRequest {
  std::string file;   // of the host's public key; "-": standard input
  std::string names;  // that clients connect to, comma-separated
  int days = 365;
};
int ssh_ca_show(const Flags& flags);
int ssh_ca_sign_host(const HostCertificateRequest& request, const Flags& flags);  // the certificate on stdout
int ssh_ca_krl(const std::string& file, const Flags& flags);                      // "-": standard output

}  // namespace millrace::app
