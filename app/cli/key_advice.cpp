#include "app/cli/key_advice.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

#include "app/cli/program.h"
#include "platform/base/net_address.h"

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint16_t kDefaultPort = 8080;
constexpr std::uint16_t kUrlPort = 80;

std::uint16_t port_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  const auto address = base::parse_net_address(url.substr(0, url.find_first_of("/?#")), kUrlPort);
  return address ? address->port : kUrlPort;
}

// The value of `--name VALUE` or `--name=VALUE`.
std::string flag_value(const std::vector<std::string>& words, const std::string& name) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == name && i + 1 < words.size()) return words[i + 1];
    if (words[i].starts_with(name + "=")) return words[i].substr(name.size() + 1);
  }
  return {};
}

std::vector<std::string> command_line(const fs::path& process) {
  std::ifstream file(process / "cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// The inodes of the sockets that listen at the port, as links in /proc/PID/fd show them.
std::set<std::string> listening_sockets(std::uint16_t port) {
  constexpr int kListen = 0x0A;
  std::set<std::string> out;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::string number, local, remote, state, skipped, inode;
      fields >> number >> local >> remote >> state >> skipped >> skipped >> skipped >> skipped >> skipped >>
          inode;
      const std::size_t colon = local.find(':');
      if (inode.empty() || colon == std::string::npos || std::stoi(state, nullptr, 16) != kListen) continue;
      if (std::stoi(local.substr(colon + 1), nullptr, 16) == port) out.insert("socket:[" + inode + "]");
    }
  }
  return out;
}

// False also if this user may not see the files of the process.
bool has_one_of(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code failed;
  for (fs::directory_iterator at(process / "fd", failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    std::error_code unknown;
    if (sockets.contains(fs::read_symlink(at->path(), unknown).string())) return true;
  }
  return false;
}

// Only the one at the port, if it can be found; else all.
std::vector<LocalGateway> running_gateways(std::uint16_t port) {
  const std::set<std::string> sockets = listening_sockets(port);
  std::vector<LocalGateway> out;
  std::error_code failed;
  for (fs::directory_iterator at("/proc", failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    auto found = gateway_in(command_line(at->path()));
    if (!found) continue;
    if (has_one_of(at->path(), sockets)) return {*std::move(found)};
    out.push_back(*std::move(found));
  }
  return out;
}

// The data directory of the only gateway that can be the one at this port. Empty: it is not known.
std::string data_of(std::uint16_t port, const std::vector<LocalGateway>& running) {
  std::set<std::string> at_port, all;
  for (const LocalGateway& each : running) {
    all.insert(each.data);
    if (each.port == port) at_port.insert(each.data);
  }
  const std::set<std::string>& found = at_port.empty() ? all : at_port;
  return found.size() == 1 ? *found.begin() : "";
}

}  // namespace

std::optional<LocalGateway> gateway_in(const std::vector<std::string>& words) {
  if (words.size() < 2 || fs::path(words[0]).filename() != "millrace") return std::nullopt;
  if (words[1] != "serve" && words[1] != "api") return std::nullopt;
  LocalGateway found{.data = flag_value(words, "--data"), .port = kDefaultPort};
  if (!fs::path(found.data).is_absolute()) found.data.clear();
  const std::string listen = flag_value(words, "--listen");
  if (listen.empty()) return found;
  const auto address = base::parse_net_address(listen);
  found.port = address ? address->port : 0;
  return found;
}

std::string key_advice(const std::string& url, const std::vector<LocalGateway>& running) {
  const std::string start = "Give a key with --key or MILLRACE_API_KEY, or its data directory with --data; `";
  if (!is_local_gateway(url))
    return start + "millrace keys create --name me` on the gateway's host makes one.";
  const std::string command = program() + " keys create --name me";
  if (const std::string data = data_of(port_of(url), running); !data.empty())
    return start + command + " --data " + shell_word(data) + "` makes one.";
  return start + command +
         "` makes one, with --data DIR if the gateway's data directory is not the usual one.";
}

std::string key_advice(const std::string& url) {
  return key_advice(url,
                    is_local_gateway(url) ? running_gateways(port_of(url)) : std::vector<LocalGateway>());
}

}  // namespace millrace::cli
