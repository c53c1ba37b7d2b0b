#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::storage {

// The descriptors of this process that have a file open.
std::vector<int> descriptors_of(const std::filesystem::path& file);

// Makes fsync and fdatasync on these descriptors fail with EIO in all threads of this process, permanently.
// False: the kernel accepts no filter.
bool fail_syncs_of(const std::vector<int>& descriptors);

}  // namespace millrace::storage
