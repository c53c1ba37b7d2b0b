#pragma once
#include <cstdint>
#include <string_view>

#include "platform/base/fd.h"
#include "platform/base/result.h"

// Sealed files in memory, positioned at their beginning: the form in which bytes enter a jail. A process that
// reopens such a file for writing cannot change it, and the file leads to no file of the host. The
// descriptors close on exec.
namespace millrace::process {

// A file that contains `bytes`. kOverloaded: no file descriptor or no memory is left.
base::Result<base::Fd> memory_file(std::string_view bytes);

// A file that contains the first `size_bytes` bytes of the regular file `fd`, whose position does not change.
// Blocks while it copies. kOverloaded: no file descriptor or no memory is left. kInternal: `fd` has fewer
// bytes or cannot be read; the message says which.
base::Result<base::Fd> memory_copy(int fd, std::uint64_t size_bytes);

// The same; the file can be executed, unless the kernel forbids that (vm.memfd_noexec).
base::Result<base::Fd> program_copy(int fd, std::uint64_t size_bytes);

}  // namespace millrace::process
