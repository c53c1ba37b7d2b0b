#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::storage {

// Open descriptors of this process for a file.
std::vector<int> descriptors_of(const std::filesystem::path& file);

// From now on fsync and fdatasync on these descriptors fail with EIO in all threads of this process, for
// good. False: the kernel takes no filter.
bool fail_syncs_of(const std::vector<int>& descriptors);

}  // namespace millrace::storage
