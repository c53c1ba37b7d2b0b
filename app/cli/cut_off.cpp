#include "app/cli/cut_off.h"

#include <cerrno>
#include <cstring>
#include <iostream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "app/cli/client.h"
#include "app/cli/exit_code.h"
#include "app/cli/interrupt.h"
#include "app/cli/program.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kNamedMax = 100;  // jobs in one line: a command with all of them still fits

// The errno of an earlier write is not known any more: a pipe without a reader shows it, a file does not.
bool has_no_reader(int fd) {
  pollfd output{fd, POLLOUT, 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

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

int finish_output() {
  errno = 0;
  std::cout.flush();  // without an effect if it has failed before
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  if (std::cout.good() && flushed && std::ferror(stdout) == 0) return kOk;
  if (::fcntl(STDOUT_FILENO, F_GETFD) < 0) return kOk;  // it was closed when we started
  if (has_no_reader(STDOUT_FILENO)) return fail_cut_off(output_cut_off(EPIPE));
  return fail_cut_off(error == 0 ? CutOff{"standard output could not be written", kFailed}
                                 : output_cut_off(error));
}

int print_made(std::string_view text, const std::string& left) {
  ::signal(SIGPIPE, SIG_IGN);
  const auto cut_off = print_whole(text);
  return cut_off ? fail_cut_off(*cut_off, left) : int{kOk};
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

bool is_end(std::string_view status) {
  return status == "succeeded" || status == "failed" || status == "cancelled" || status == "expired";
}

std::optional<std::string> ended_text(Client& client, const std::string& path, const std::string& job) {
  const auto answer = client.request("GET", path);
  const std::string status = answer.ok ? answer.json->value("status", "") : "";
  if (!is_end(status)) return std::nullopt;
  return job + " has ended: " + status;
}

int fail_cut_off(const CutOff& why, const std::string& text) {
  std::cerr << "millrace: " << why.reason << (text.empty() ? "" : "; ") << text << '\n';
  return why.exit_code;
}

}  // namespace millrace::cli
