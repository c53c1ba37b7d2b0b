#pragma once
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::cli {

class Client;
class Interrupt;

// Why a command ended before what it follows, with the exit code that a shell shows for a program that SIGHUP
// or SIGPIPE has ended. Commands that leave something running print one line with it: what goes on, and how
// to cancel it.
struct CutOff {
  std::string reason;  // "the terminal was closed"
  int exit_code = 0;
};

// nullopt: the last signal was not SIGHUP.
std::optional<CutOff> cut_off_by(const Interrupt& interrupt);

// Writes at once. False: it cannot be written; errno says why. A stream that was closed when we started
// (2>&-) takes everything. SIGPIPE must be ignored.
[[nodiscard]] bool write_output(std::string_view bytes, std::FILE* to);
// After a failed write to standard output. `error` is errno.
CutOff output_cut_off(int error);
// The same for standard output in one call. nullopt: written.
[[nodiscard]] std::optional<CutOff> print_whole(std::string_view bytes);

// Writes out what standard output still buffers. If it, or anything before, could not be written, prints one
// line about it. Returns the exit code of the command: kOk, or as output_cut_off. For the end of a command.
int finish_output();

// Prints what names a thing that now exists, such as a new key. If it cannot be written, prints one line with
// `left`: what exists, and what to do. Returns the exit code. Ignores SIGPIPE from now on.
int print_made(std::string_view text, const std::string& left);

// "ocr-1 goes on; cancel it with `millrace jobs cancel ocr-1`", for the line about a CutOff. `connection`:
// the options of the gateway, as in gateway_options. Of more than 100 jobs it has only the count and how to
// list them. REQUIRES: `jobs` is not empty.
std::string goes_on_text(const std::vector<std::string>& jobs, const std::string& connection);

// True for an API status with which a job or an execution has ended.
bool is_end(std::string_view status);

// "ocr-1 has ended: succeeded", for the same line, if a GET of `path` says so of a job or an execution.
// nullopt: it goes on, or it is not known.
std::optional<std::string> ended_text(Client& client, const std::string& path, const std::string& job);

// Prints "millrace: REASON; TEXT", or "millrace: REASON", on standard error. Returns the exit code.
int fail_cut_off(const CutOff& why, const std::string& text = {});

}  // namespace millrace::cli
