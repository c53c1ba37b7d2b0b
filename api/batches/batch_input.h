#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/base/result.h"
#include "storage/blobs/blobs.h"

namespace millrace::api {

// Reads the lines of a batch's input one after the other, in a bounded part of its memory. Lines end with LF
// or CRLF; a byte order mark at the beginning and empty lines are left out. Blocks on the disk. One thread.
class BatchInput {
 public:
  // Of a longer line only its number and its length are known.
  BatchInput(storage::OpenFile file, std::int64_t line_max) : file_(std::move(file)), line_max_(line_max) {}

  struct Line {
    std::int64_t number = 0;  // from 1; empty lines count
    std::int64_t starts_at = 0, bytes = 0;
    bool is_too_long = false;
    bool is_empty = false;  // many empty lines follow each other; the next call goes on
  };
  // The next line, whose text is in `text`, unless it is too long; nullopt: the end.
  base::Result<std::optional<Line>> next(std::string& text);
  // The bytes of one line. kStoredDamaged: there are fewer.
  base::Result<std::string> read(std::int64_t starts_at, std::int64_t bytes) const;

 private:
  base::Result<bool> fill();  // false: the end of the file

  storage::OpenFile file_;
  const std::int64_t line_max_;
  std::string buffer_;
  std::size_t at_ = 0;         // in the buffer
  std::int64_t position_ = 0;  // of the buffer in the file
  std::int64_t number_ = 0;
};

}  // namespace millrace::api
