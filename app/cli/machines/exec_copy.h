#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/cli/client.h"

namespace millrace::cli {

// "exec-…:NAME": an artifact of an execution. An empty name: all artifacts.
struct ArtifactSource {
  std::string execution, name;
};
std::optional<ArtifactSource> artifact_source(const std::string& text);

// "local:data/in.csv": a file of a machine. An empty path: the machine's folder. Not text with a slash before
// its colon, which is a local file.
struct MachinePath {
  std::string machine, path;
};
std::optional<MachinePath> path_in_machine(const std::string& text);

struct ExecCopyRequest {
  std::string machine;             // id or name; empty: the machine that has the execution
  std::vector<std::string> paths;  // sources, then the destination
};

// `millrace exec cp`: artifacts and files of machines to this computer; local files into a machine if the
// destination is a MachinePath. Each file is written under a temporary name until it is complete. Below a
// destination folder a file keeps its whole name, including sub-folders. "-" is standard output, and as a
// source standard input. If a file cannot be copied, the others still are. Returns an ExitCode, that of the
// first failure; kUsage: the arguments are ambiguous.
int exec_copy(const ExecCopyRequest& request, ClientOptions options);

}  // namespace millrace::cli
