#pragma once
#include <cstdint>
#include <string>

#include "platform/base/fd.h"
#include "platform/process/child.h"

namespace millrace::machines {

// One sshd in its jail, and what it says. Ends with this. Not thread-safe.
class SshdConnection {
 public:
  // `words`: our end of its standard error, without blocking.
  SshdConnection(std::string machine, process::Child sshd, base::Fd words)
      : machine_(std::move(machine)), sshd_(std::move(sshd)), words_(std::move(words)) {}

  int process_fd() const { return sshd_.pidfd(); }  // readable: it has ended
  int words_fd() const { return words_.get(); }     // readable: `hear`; -1: it says no more
  // Logs what it has said: logins as such, the rest for those who look for a fault.
  void hear();
  // True once it has ended; says so in the log if that was the jail's fault.
  bool over();

 private:
  void take(std::string_view bytes);
  void log_line();

  std::string machine_;
  process::Child sshd_;
  base::Fd words_;
  std::string line_, last_line_;
};

}  // namespace millrace::machines
