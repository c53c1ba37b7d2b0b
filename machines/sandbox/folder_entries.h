#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/fd.h"

// Folders that a command wrote, looked at from outside: nothing here follows a symbolic link, leaves the
// folder, or blocks on what it finds.
namespace millrace::machines {

// Names in the folder, at most `most` of them, sorted; without "." and "..". Reads from its beginning.
std::vector<std::string> names_in(int folder, std::size_t most);

// An entry of the folder as O_PATH, itself even where it is a symbolic link; empty: errno.
base::Fd entry_of(int folder, const std::string& name);

// The bytes that the files below it take on the disk. Looks at 1,000,000 entries at most; what is closed to
// us is not counted. nullopt: it is nested deeper than is looked at (256).
std::optional<std::uint64_t> bytes_below(int folder);

// Removes all that is in it, however deep it is nested. False: something is left.
bool remove_below(int folder);

}  // namespace millrace::machines
