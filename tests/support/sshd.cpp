#include "tests/support/sshd.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/processes.h"
#include "tests/support/wait_until.h"

namespace millrace::support {
namespace {

constexpr const char* kProgram = "/usr/sbin/sshd";

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();  // also for /proc: if the process ends meanwhile, the text is shorter
  return text.str();
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  if (!bound) throw std::runtime_error("no port is free");
  return ntohs(address.sin_port);
}

bool answers(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  bool said = false;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    pollfd readable{fd, POLLIN, 0};
    char first = 0;
    said = ::poll(&readable, 1, 1'000) == 1 && ::read(fd, &first, 1) == 1 && first == 'S';
  }
  ::close(fd);
  return said;
}

std::string user_name() {
  const passwd* user = ::getpwuid(::geteuid());
  if (user == nullptr) throw std::runtime_error("the user of the tests has no name");
  return user->pw_name;
}

// When run as root, sshd needs a folder that the package's service creates.
void make_run_folder() {
  if (::geteuid() == 0) ::mkdir("/run/sshd", 0755);
}

}  // namespace

std::string Sshd::missing() {
  return ::access(kProgram, X_OK) == 0 ? "" : "there is no sshd: scripts/setup test";
}

Sshd::Sshd(const std::string& user_ca, const std::string& principal) : user_(user_name()) {
  if (const std::string reason = missing(); !reason.empty()) throw std::runtime_error(reason);
  const std::string key = dir_.str() + "/host_key";
  const std::string command = "ssh-keygen -q -t ed25519 -N '' -C '' -f '" + key + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command + " failed");
  host_key_ = text_of(key + ".pub");
  host_key_.erase(host_key_.find_last_not_of(" \n") + 1);
  dir_.write("user_ca.pub", user_ca + "\n");
  dir_.write("principals", principal + "\n");
  make_run_folder();
  start();
}

Sshd::~Sshd() { kill_all(); }

void Sshd::write_config() const {
  const std::string dir = dir_.str();
  std::string text = "ListenAddress 127.0.0.1\nPort " + std::to_string(port_) + "\nHostKey " + dir +
                     "/host_key\nTrustedUserCAKeys " + dir + "/user_ca.pub\nAuthorizedPrincipalsFile " + dir +
                     "/principals\nPidFile none\n" +
                     "AuthorizedKeysFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                     "PermitRootLogin prohibit-password\nUsePAM no\nStrictModes no\nPermitUserRC no\n"
                     "AllowTcpForwarding no\nAllowAgentForwarding no\nX11Forwarding no\nPermitTTY no\n"
                     "MaxStartups 100\nLogLevel VERBOSE\n";
  if (!certificate_.empty()) {
    dir_.write("host_key-cert.pub", certificate_ + "\n");
    text += "HostCertificate " + dir + "/host_key-cert.pub\n";
  }
  dir_.write("sshd_config", text + settings_);
}

bool Sshd::try_start() {
  port_ = port_ > 0 ? port_ : free_port();
  write_config();
  const std::string config = dir_.str() + "/sshd_config";
  const std::string log = dir_.str() + "/log";
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execl(kProgram, kProgram, "-D", "-f", config.c_str(), "-E", log.c_str(), nullptr);
    ::_exit(127);
  }
  bool ended = false;
  wait_until([&] { return (ended = ::waitpid(pid_, nullptr, WNOHANG) == pid_) || answers(port_); });
  if (ended) pid_ = -1;
  return !ended;
}

void Sshd::start() {
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (try_start()) return;
    port_ = 0;  // another process may have taken the port
  }
  throw std::runtime_error("sshd did not start: " + text_of(dir_.str() + "/log"));
}

void Sshd::restart_with_certificate(const std::string& certificate) {
  kill_all();
  certificate_ = certificate;
  start();
}

void Sshd::restart_with(const std::string& settings) {
  kill_all();
  settings_ = settings;
  start();
}

void Sshd::kill_all() {
  if (pid_ < 0) return;
  for (const pid_t pid : descendants_of(pid_)) {
    if (text_of("/proc/" + std::to_string(pid) + "/comm").rfind("sshd", 0) == 0) ::kill(pid, SIGKILL);
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace millrace::support
