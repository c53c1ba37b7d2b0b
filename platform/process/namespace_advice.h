#pragma once
#include <filesystem>
#include <string>
#include <vector>

// What an operator can do where user namespaces are forbidden.
namespace millrace::process {

// A setting of the kernel that forbids them.
struct KernelSetting {
  std::string name;    // of sysctl(8)
  std::string wanted;  // its value that allows them
  enum class Writer { kThisUser, kRoot, kHost };
  Writer writer = Writer::kThisUser;  // who can set it; kHost: nobody here, /proc/sys is not to be written
};
std::vector<KernelSetting> forbidding_settings(const std::filesystem::path& proc_sys = "/proc/sys");

// Names the command, and who has to run it where; without `forbidding` something else forbids them.
std::string allow_namespaces(const std::vector<KernelSetting>& forbidding);

}  // namespace millrace::process
