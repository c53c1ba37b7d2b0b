#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "platform/base/fd.h"
#include "platform/base/md5.h"
#include "platform/base/result.h"

namespace millrace::cli {

struct CloseFile {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

// The content of a file that is uploaded, which can be read at any place. What cannot, such as standard
// input, is copied to a file without a name first. Not thread-safe; every method blocks.
class UploadSource {
 public:
  // `path`: "-" is standard input. kNotFound, kInternal (no space for a copy).
  static base::Result<UploadSource> open(const std::string& path);

  std::int64_t bytes() const { return bytes_; }
  // A file without a name: `head`, `count` bytes from `offset`, and `tail`. `md5`, if it is not null, gets
  // the bytes in the middle.
  base::Result<TemporaryFile> form(std::int64_t offset, std::int64_t count, std::string_view head,
                                   std::string_view tail, base::Md5* md5 = nullptr) const;

 private:
  explicit UploadSource(std::string path) : path_(std::move(path)) {}
  int fd() const { return copy_ ? fileno(copy_.get()) : file_.get(); }
  base::Status copy();
  base::Error no_space() const;

  std::string path_;
  base::Fd file_;
  TemporaryFile copy_;  // null: `file_` is read
  std::int64_t bytes_ = 0;
};

}  // namespace millrace::cli
