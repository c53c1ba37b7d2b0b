#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/fd.h"

// Reads and removes folders that a command wrote, from outside its jail. No function here follows a symbolic
// link, leaves the folder, or blocks on an entry such as a pipe.
namespace millrace::machines {

// The sorted names in the folder, at most `most` of them, without "." and "..". Reading starts at the first
// entry.
std::vector<std::string> names_in(int folder, std::size_t most);

// Opens an entry of the folder with O_PATH. A symbolic link is opened itself, not its target. Empty on
// failure: see errno.
base::Fd entry_of(int folder, const std::string& name);

// The disk space in bytes that the files below the folder take. Visits at most 1,000,000 entries. Entries
// that we may not read are not counted. nullopt: the folders are nested deeper than 256 levels.
std::optional<std::uint64_t> bytes_below(int folder);

// True if a file below the folder has at least this size and was changed since `changed_ns` (Unix time).
// Visits as many entries as bytes_below.
bool has_large_file(int folder, std::uint64_t bytes, std::int64_t changed_ns);

// Removes everything in the folder, at any depth. False: some entries could not be removed.
bool remove_below(int folder);

}  // namespace millrace::machines
