#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

#include "platform/base/result.h"

// Reads and writes whole local files.
namespace millrace::cli {

// Reads a file. `too_large`: it has more than `bytes_max` bytes; reading stops there. kNotFound: it cannot be
// read, or it is a pipe or terminal and an interrupt arrived before its end.
base::Result<std::string> read_whole(const std::filesystem::path& file, std::size_t bytes_max,
                                     const base::Error& too_large);

// Writes a file under a temporary name, then renames it. Missing folders are created. kInternal names the
// file that cannot be written.
base::Status write_whole(const std::filesystem::path& file, const std::string& bytes);

// The file's size and modification time: a changed stamp means that the file has changed.
std::string file_stamp(const std::filesystem::path& file);

}  // namespace millrace::cli
