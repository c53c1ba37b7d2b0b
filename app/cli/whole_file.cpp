#include "app/cli/whole_file.h"

#include <fstream>

namespace millrace::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kReadPieceBytes = std::size_t{1} << 20;

}  // namespace

base::Result<std::string> read_whole(const fs::path& file, std::size_t bytes_max,
                                     const base::Error& too_large) {
  std::error_code unknown;  // a pipe has no size: what comes out of it is counted
  const std::uintmax_t size = fs::file_size(file, unknown);
  if (!unknown && size > bytes_max) return too_large;
  std::ifstream in(file, std::ios::binary);
  std::string bytes;
  while (in && bytes.size() <= bytes_max) {
    const std::size_t had = bytes.size();
    bytes.resize(had + kReadPieceBytes);
    in.read(bytes.data() + had, static_cast<std::streamsize>(kReadPieceBytes));
    bytes.resize(had + static_cast<std::size_t>(in.gcount()));
  }
  if (bytes.size() > bytes_max) return too_large;
  if (!in.eof()) return base::error(base::Code::kNotFound, "the file cannot be read");
  return bytes;
}

base::Status write_whole(const fs::path& file, const std::string& bytes) {
  const base::Error failure = base::error(base::Code::kInternal, "cannot write " + file.string());
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  const fs::path fresh = file.string() + ".part";
  std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  if (!out) return failure;
  fs::rename(fresh, file, failed);
  return failed ? base::Status(failure) : base::Status();
}

std::string file_stamp(const fs::path& file) {
  std::error_code failed;
  const auto size = fs::file_size(file, failed);
  const auto written = fs::last_write_time(file, failed).time_since_epoch().count();
  return std::to_string(size) + "-" + std::to_string(written);
}

}  // namespace millrace::cli
