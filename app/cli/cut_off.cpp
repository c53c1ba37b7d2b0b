#include "app/cli/cut_off.h"

#include <cerrno>
#include <cstring>
#include <iostream>

#include <signal.h>

#include "app/cli/exit_code.h"
#include "app/cli/interrupt.h"
#include "app/cli/program.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kNamedMax = 100;  // jobs in one line: a command with all of them still fits

}  // namespace

std::optional<CutOff> cut_off_by(const Interrupt& interrupt) {
  if (interrupt.last() != SIGHUP) return std::nullopt;
  return CutOff{"the terminal was closed", kHungUp};
}

bool write_output(std::string_view bytes, std::FILE* to) {
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), to) == bytes.size();
  return (std::fflush(to) == 0 && written) || errno == EBADF;
}

CutOff output_cut_off(int error) {
  if (error == EPIPE) return {"standard output was closed", kPipeClosed};
  return {std::string("standard output cannot be written: ") + std::strerror(error), kFailed};  // NOLINT
}

std::optional<CutOff> print_whole(std::string_view bytes) {
  if (write_output(bytes, stdout)) return std::nullopt;
  return output_cut_off(errno);
}

std::string goes_on_text(const std::vector<std::string>& jobs, const std::string& connection) {
  if (jobs.size() > kNamedMax) {
    return std::to_string(jobs.size()) + " jobs go on; `" + program() + " jobs ls" + connection +
           "` lists them";
  }
  std::string ids;
  for (const std::string& job : jobs) ids += " " + job;
  const bool is_one = jobs.size() == 1;
  return (is_one ? jobs.front() + " goes on; cancel it"
                 : std::to_string(jobs.size()) + " jobs go on; cancel them") +
         " with `" + program() + " jobs cancel" + connection + ids + "`";
}

int fail_cut_off(const CutOff& why, const std::string& text) {
  std::cerr << "millrace: " << why.reason << "; " << text << '\n';
  return why.exit_code;
}

}  // namespace millrace::cli
