#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

namespace millrace::cli {

struct ExecListRequest {
  std::string machine;  // id or name; empty: the only one, or `local`
  int limit = 50;
};

// `millrace exec ls`: a machine's executions, newest first, as a table, or with `options.json` one JSON
// object per line; returns an ExitCode.
int exec_ls(const ExecListRequest& request, ClientOptions options);

// One line of it, without its end, and the one above them. The command is as a shell would read it, and cut
// where it is long.
std::string execution_row(const nlohmann::json& execution);
std::string execution_header();

}  // namespace millrace::cli
