#pragma once
#include <filesystem>
#include <string>

namespace millrace::support {

// Runs `scripts/<name> <verb> --dir <dir>` and returns the first line of its output. Throws
// std::runtime_error with the output if it fails.
std::string run_server_script(const std::string& name, const std::string& verb,
                              const std::filesystem::path& dir);

// $MILLRACE_BUILD, else the folder of the test's program.
std::filesystem::path build_folder();
// The first line of a file in the build folder, which a fixture of ctest has written; empty if there is none.
std::string fixture_line(const std::string& file);

}  // namespace millrace::support
