#include "tests/support/s3_server.h"

#include <csignal>
#include <fstream>
#include <stdexcept>

#include <sys/types.h>

#include "tests/support/server_script.h"

namespace millrace::support {

std::string S3Server::start() { return run_server_script("s3", "start", dir_); }
void S3Server::stop() { run_server_script("s3", "stop", dir_); }
void S3Server::kill() { run_server_script("s3", "kill", dir_); }

void S3Server::pause() {
  pid_t pid = 0;
  if (!(std::ifstream(dir_ / "server.pid") >> pid) || ::kill(pid, SIGSTOP) != 0)
    throw std::runtime_error("the S3 server does not run");
}

std::string shared_s3() {
  const std::string url = fixture_line("s3-url");
  return url.empty() ? S3Server(build_folder() / "s3").start() : url;
}

}  // namespace millrace::support
