#include "machines/sandbox/etc_files.h"

#include <utility>

#include "platform/process/memory_file.h"

namespace millrace::machines {
namespace {

// The full name is set and the host's full name has a dot: git takes an author from them.
std::string passwd() {
  const std::string user = kInnerUser;
  const std::string uid = std::to_string(kInnerUid);
  return "root:*:0:0:root:/root:/usr/sbin/nologin\n" + user + ":*:" + uid + ":" + uid + ":" + user +
         ":/workspace:/bin/bash\nnobody:*:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
}

std::string group() {
  return "root:x:0:\n" + std::string(kInnerUser) + ":x:" + std::to_string(kInnerUid) +
         ":\nnogroup:x:65534:\n";
}

std::string hosts() {
  const std::string host = kInnerHost;
  return "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 " + host + ".internal " +
         host + "\n";
}

std::string nsswitch(bool network) {
  return std::string("passwd: files\ngroup: files\nshadow: files\nhosts: files") + (network ? " dns" : "") +
         "\nnetworks: files\nprotocols: files\nservices: files\n";
}

}  // namespace

base::Result<std::vector<JailFile>> etc_files(bool network) {
  std::vector<std::pair<std::string, std::string>> texts{{"/etc/passwd", passwd()},
                                                         {"/etc/group", group()},
                                                         {"/etc/hosts", hosts()},
                                                         {"/etc/host.conf", "multi on\n"},
                                                         {"/etc/nsswitch.conf", nsswitch(network)}};
  // With the network, the host's resolv.conf is mounted.
  if (!network) texts.emplace_back("/etc/resolv.conf", "# no network\noptions timeout:1 attempts:1\n");
  std::vector<JailFile> files;
  for (const auto& [path, text] : texts) {
    auto file = process::memory_file(text);
    if (!file) return std::move(file.error());
    files.push_back({path, std::move(*file)});
  }
  return files;
}

}  // namespace millrace::machines
