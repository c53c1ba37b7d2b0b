#include "tests/unit/machines/ssh_tools.h"

#include <fstream>
#include <iterator>

#include "machines/keys/ssh_wire.h"
#include "platform/base/base64.h"

namespace millrace::machines {

process::Captured SshTools::ran(std::vector<std::string> words) {
  process::Command command;
  command.argv = std::move(words);
  command.argv.front().insert(0, "/usr/bin/");
  command.environment = {"PATH=/usr/bin:/bin", "TZ=UTC", "LANG=C.UTF-8"};
  process::CaptureLimits limits;
  limits.wall = std::chrono::seconds(60);
  auto captured = process::capture(spawner_, std::move(command), limits);
  EXPECT_TRUE(captured) << captured.error().message;
  return captured ? std::move(*captured) : process::Captured{{255, 0}, {}, {}, false, false};
}

std::string SshTools::output_of(std::vector<std::string> words) {
  const process::Captured captured = ran(std::move(words));
  EXPECT_TRUE(captured.exit.ok()) << captured.exit.code << ": " << captured.err;
  return captured.out;
}

std::string SshTools::key_file(const std::string& name, std::vector<std::string> kind) {
  const std::string path = dir_.str() + "/" + name;
  std::vector<std::string> words{"ssh-keygen", "-q", "-N", "", "-C", "a comment", "-f", path};
  words.insert(words.end(), kind.begin(), kind.end());
  output_of(std::move(words));
  return path;
}

std::string SshTools::line_in(const std::string& path) {
  std::string text = text_in(path);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string SshTools::shown(const std::string& certificate) {
  const std::string path = dir_.write("shown-cert.pub", certificate + "\n").string();
  return output_of({"ssh-keygen", "-L", "-f", path});
}

std::string text_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> words_of_kind(const std::string& type) {
  if (type == "ssh-ed25519") return {"-t", "ed25519"};
  if (type == "ssh-rsa") return {"-t", "rsa", "-b", "3072"};
  return {"-t", "ecdsa", "-b", type.substr(type.size() - 3)};
}

std::string security_key_line(const std::string& type) {
  // The base point of nistp256, which lies on the curve.
  constexpr std::string_view kPoint =
      "BGsX0fLhLEJH+Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT+NC4v4af5uO5+tKfA+eFivOM1drMV7Oy7ZAaDe/UfU=";
  std::string fields = type == "sk-ssh-ed25519@openssh.com"
                           ? wire_strings({type, std::string(32, '\x27'), "ssh:"})
                           : wire_strings({type, "nistp256", *base::base64_decode(kPoint), "ssh:"});
  return type + " " + base::base64_encode(fields) + " security key";
}

}  // namespace millrace::machines
