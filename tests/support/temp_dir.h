#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace millrace::support {

// A new directory under $TMPDIR (or /tmp). The destructor removes it with its content.
class TempDir {
 public:
  TempDir();
  explicit TempDir(const std::filesystem::path& under);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string str() const { return path_.string(); }
  // Writes a file below it, creates missing parent folders, and returns the file's path.
  std::filesystem::path write(std::string_view name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

}  // namespace millrace::support
