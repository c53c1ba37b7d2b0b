#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/cli/client.h"

namespace millrace::cli {

// "exec-…:NAME", an artifact of an execution; an empty name: all of them.
struct ArtifactSource {
  std::string execution, name;
};
std::optional<ArtifactSource> artifact_source(const std::string& text);

struct ExecCopyRequest {
  std::string machine;             // id or name; empty: whichever has the execution
  std::vector<std::string> paths;  // sources, then where to
};

// `millrace exec cp`: each file under another name until it is whole. In a folder it keeps its whole name,
// with folders below it; "-" is standard output. Returns an ExitCode; kUsage: what is meant is not clear.
int exec_copy(const ExecCopyRequest& request, ClientOptions options);

}  // namespace millrace::cli
