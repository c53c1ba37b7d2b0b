#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::cli {

// An Idempotency-Key of a command that nobody has used.
std::string fresh_key(const std::string& command);

// What is known of one input in one form (an ending: ".md"). A key is made before the first request, so that
// a request whose answer was lost is never made twice.
struct ResumeEntry {
  std::string stamp;  // size and modification time of the file, and the options: changed means new
  std::string key;    // Idempotency-Key
  std::string job;    // empty: not acknowledged yet
  // "": under way, "cancelling": asked to end, and not over by then; "succeeded", "failed", "cancelled"
  std::string status;
  int pages = 0;
};

// Held while a command works for the output folder `folder`. kBadRequest: another process does. Where the
// file system knows no locks, nothing keeps others out.
base::Result<base::Fd> lock_outputs(const std::filesystem::path& folder, const std::string& command);

// DIR/.millrace-<command>.json: which inputs of an output folder are done in which form, which jobs go on,
// and whose each output is. An input is the same however it is written, and wherever the folders are moved
// together. Written atomically.
class ResumeFile {
 public:
  // kBadRequest: it is there and is not one of ours.
  static base::Result<ResumeFile> open(const std::filesystem::path& folder, std::string command);
  // The entry of the input in a form, new if the stamp has changed. Versions 1 and 2 knew one entry for all
  // forms: it is the first one's that has its stamp.
  ResumeEntry& entry(const std::filesystem::path& input, const std::string& ending, const std::string& stamp);
  // Known, of a version that noted no outputs.
  bool knows_no_output(const std::filesystem::path& input) const;
  // Of the input and the ending of a form (".md"): empty while it has none.
  std::string output(const std::filesystem::path& input, const std::string& ending) const;
  void set_output(const std::filesystem::path& input, const std::string& ending,
                  const std::filesystem::path& output);
  std::set<std::filesystem::path> outputs() const;  // all of them
  base::Status save() const;

 private:
  struct Input {
    std::map<std::string, ResumeEntry> forms;    // by ending; "": of a version that knew one for all
    std::map<std::string, std::string> outputs;  // by ending, below the output folder: this input's for good
  };
  std::string key_of(const std::filesystem::path& input) const;

  std::filesystem::path folder_;  // canonical
  std::filesystem::path path_;
  std::string command_;
  std::map<std::string, Input> inputs_;
};

}  // namespace millrace::cli
