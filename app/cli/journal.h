#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::cli {

// What a command has begun for an output file, in a file of JSON lines beside it: DIR/.millrace-COMMAND-NAME
// for DIR/NAME. After a crash the same command reads it and goes on. It is locked while the object lives. One
// thread.
class Journal {
 public:
  // False: "-", a device or a pipe, which cannot be gone on with.
  static bool is_for(const std::filesystem::path& output);
  // Opens or creates it; locks have no effect on a file system without them. kBadRequest: another process
  // holds it. kInternal: it cannot be written.
  static base::Result<Journal> beside(const std::filesystem::path& output, const std::string& command);

  // The objects of its lines, oldest first. A line that was cut off is left out.
  const std::vector<nlohmann::json>& entries() const { return entries_; }
  // Removes all lines and writes this one.
  base::Status restart(nlohmann::json first);
  // Appends a line; it is with the kernel on return.
  base::Status add(nlohmann::json entry);
  // The command is complete.
  void remove();

 private:
  base::Status load();
  base::Error failure() const;

  std::filesystem::path path_;
  base::Fd file_;
  std::vector<nlohmann::json> entries_;
};

}  // namespace millrace::cli
