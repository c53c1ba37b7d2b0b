#pragma once
#include <string>
#include <string_view>

#include "platform/base/fd.h"

namespace millrace::machines {

// Files and folders of control groups. False: errno.
bool write_group_file(const std::string& path, std::string_view text);
std::string read_group_file(const std::string& path);  // empty: it cannot be read
bool make_group(const std::string& path);              // it may be there already
// Makes the group and owns it as long as the descriptor is open. Empty: errno.
base::Fd own_group(const std::string& path);
// Removes the groups of `parent`, and what is empty below each, that no process owns.
void sweep_groups(const std::string& parent);
// The number behind `key` in a text of "key number" lines; 0: it is not there.
unsigned long long number_in(std::string_view text, std::string_view key);

}  // namespace millrace::machines
