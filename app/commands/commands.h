#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/exit_code.h"

namespace millrace::app {

// Settings given on the command line of a server-side command, by flag name without dashes.
using Flags = std::map<std::string, std::string>;

// Runs until SIGTERM or SIGINT; a second signal ends the process at once. `role`: "serve", "api" or "worker".
struct ServeRequest {
  std::string role;
  std::string kinds;  // worker: comma-separated; empty: all
};
int serve(const ServeRequest& request, const Flags& flags);

int config_check(bool all, const Flags& flags);  // `all`: the values in spite of errors
int config_reference();                          // every setting, as Markdown

// Converts a LiteLLM configuration to a Millrace one, on stdout or in a new file. What cannot be converted is
// listed on stderr.
struct ConfigImportRequest {
  std::string file;
  std::string output;  // empty or "-": stdout
};
int config_import(const ConfigImportRequest& request);
int print_openapi();
int doctor(bool verbose, const Flags& flags);
// Copies the data directory into a folder that does not exist yet. A gateway may be using the data directory.
int backup(const std::string& folder, const Flags& flags);

// The store in PostgreSQL at store.url. init: creates the schema or brings it up to date. check: prints what
// is there without changing it; cli::kFailed if it is not usable. copy: between SQLite in `data` and
// PostgreSQL, while no gateway runs; `target` is a URL, or "sqlite" for the way back.
int store_init(const Flags& flags);
int store_check(const Flags& flags);
// Hands the objects at blobs.url over to the store at store.url, such as a restored copy of the old one.
int store_take_bucket(const Flags& flags);
int store_copy(const std::string& target, bool skips_damaged, const Flags& flags);

struct KeyArguments {
  std::string name, tenant = "default";
  std::optional<std::string> scopes, expires;  // absent: the default scopes of a new key; no expiry
  std::optional<std::string> ip_ranges, models, mcp_servers;  // lists with commas; absent: all
  std::optional<std::string> limits;                          // as apply_limit, with commas
};
// Prints only the key on stdout; it cannot be shown again.
int keys_create(const KeyArguments& request, const Flags& flags);
int keys_list(bool json, const Flags& flags);
// Absent members do not change. `expires`: a duration from now, or "never". A list of "all" removes the
// limit.
struct KeyChangeArguments {
  std::optional<std::string> name, scopes, expires, ip_ranges, models, mcp_servers, limits;
};
// Prints the key as JSON. cli::kNotFound: no such key.
int keys_set(const std::string& id, const KeyChangeArguments& request, const Flags& flags);
// cli::kNotFound: no such key.
int keys_revoke(const std::string& id, const Flags& flags);
// Prints only the new key on stdout; it cannot be shown again. The old key stays valid for `overlap`, a
// duration.
int keys_rotate(const std::string& id, const std::string& overlap, const Flags& flags);
// For a store whose pepper or secret.key is lost.
int keys_accept_secrets(const Flags& flags);

// Tenants of a data directory: what they use and their limits. Arguments of set: QUOTA=NUMBER,
// QUOTA=unlimited or QUOTA=default; other limits stay.
int tenants_list(bool json, const Flags& flags);
int tenants_show(const std::string& name, bool json, const Flags& flags);
int tenants_set(const std::string& name, const std::vector<std::string>& arguments, const Flags& flags);

// The audit log of a data directory. cli::kFailed: the hash chain is broken.
int audit_verify(const Flags& flags);
int audit_export(std::int64_t after, const Flags& flags);  // rows after this number, a JSON object per line

// Local models for transcription (docs/audio.md).
struct ModelPullRequest {
  std::string name;       // of the catalogue
  std::string folder;     // empty: DATA/models/NAME
  std::string catalogue;  // a file; empty: the one of this program
};
// Downloads a model's files, and prints the rows for millrace.yaml on stdout. A second run continues an
// interrupted one. cli::kNotFound: the catalogue does not have the name. cli::kNoConnection: a server failed.
int models_pull(const ModelPullRequest& request, const Flags& flags);
int models_catalogue(const std::string& catalogue, bool json);

// The SSH certificate authorities of a data directory.
struct HostCertificateRequest {
  std::string file;   // file with the host's public key; "-": standard input
  std::string names;  // host names that clients connect to, comma-separated
  int days = 365;
};
int ssh_ca_show(const Flags& flags);
// Prints the certificate on stdout.
int ssh_ca_sign_host(const HostCertificateRequest& request, const Flags& flags);
int ssh_ca_krl(const std::string& file, const Flags& flags);  // "-": standard output

}  // namespace millrace::app
