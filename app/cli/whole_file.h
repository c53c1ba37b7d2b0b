#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

#include "platform/base/result.h"

// Local files as wholes.
namespace millrace::cli {

// `too_large`: it has more than `bytes_max`, and is not read beyond that. kNotFound: it cannot be read, or is
// a pipe or terminal that says nothing more until an interrupt waits.
base::Result<std::string> read_whole(const std::filesystem::path& file, std::size_t bytes_max,
                                     const base::Error& too_large);

// Under another name first, then its own. Folders are made. kInternal names the file that cannot be written.
base::Status write_whole(const std::filesystem::path& file, const std::string& bytes);

// Its size and time of change: another text means another file.
std::string file_stamp(const std::filesystem::path& file);

}  // namespace millrace::cli
