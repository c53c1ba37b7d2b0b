#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "platform/base/result.h"

namespace millrace::cli {

// An Idempotency-Key of a command that nobody has used.
std::string fresh_key(const std::string& command);

// What is known of one input. A key is made before the first request, so that a request whose answer was lost
// is never made twice.
struct ResumeEntry {
  std::string stamp;   // size and modification time of the file, and the options: changed means new
  std::string key;     // Idempotency-Key
  std::string job;     // empty: not acknowledged yet
  std::string status;  // "": under way, "succeeded", "failed", "cancelled"
  int pages = 0;
};

// DIR/.millrace-<command>.json: which inputs of an output folder are done, and which jobs go on. Written
// atomically.
class ResumeFile {
 public:
  // kBadRequest: it is there and is not one of ours.
  static base::Result<ResumeFile> open(const std::filesystem::path& folder, std::string command);
  // The entry of the input, new if the stamp has changed.
  ResumeEntry& entry(const std::string& input, const std::string& stamp);
  base::Status save() const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::string command_;
  std::map<std::string, ResumeEntry> entries_;
};

}  // namespace millrace::cli
