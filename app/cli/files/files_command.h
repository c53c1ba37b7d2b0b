#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/cli/client.h"

// `millrace files …`: files that are stored by the gateway. Each function returns an ExitCode; with several
// names it goes on after a failure and returns the first one.
namespace millrace::cli {

struct FilesPutRequest {
  std::vector<std::string> paths;  // "-": standard input
  std::string purpose;             // empty: the gateway's default
  std::optional<int> expire_hours;
};
struct FilesGetRequest {
  std::string file;
  std::string output;  // empty: its own name in this folder; "-": standard output
};

// Prints all files, newest first, as a table, or with --json one object per line. `purpose`: empty: all.
int files_ls(const std::string& purpose, ClientOptions options);
// Uploads files and prints the id of each, or with --json its description. Files above
// schemas::kUploadPartBytesMax go in parts, with progress on stderr.
int files_put(const FilesPutRequest& request, const ClientOptions& options);
// Downloads a file. It is written under a temporary name until it is complete.
int files_get(const FilesGetRequest& request, ClientOptions options);
int files_rm(const std::vector<std::string>& files, ClientOptions options);

}  // namespace millrace::cli
