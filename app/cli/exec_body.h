#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/exec_command.h"

// What `millrace exec run` asks for: the body of POST …/executions.
namespace millrace::cli {

// Reads the file of --stdin. What is wrong with the flags is in `problem`; the body is of no use then.
nlohmann::json exec_body(const ExecRequest& request, std::string& problem);

// What the gateway says of a body's fields, said of the flags that they are: "cwd: …; body.timeout_ms: …"
// becomes "--cwd: …; --timeout: …". What names no field stays as it is.
std::string in_flag_words(std::string_view message);

}  // namespace millrace::cli
