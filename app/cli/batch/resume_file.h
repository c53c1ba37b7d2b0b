#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::cli {

// A new Idempotency-Key for a command.
std::string fresh_key(const std::string& command);

// How a command lays out the text of a result. A change needs no new job.
struct TextLayout {
  std::string options;  // those that the user chose
  int version = 0;      // of what the command does by itself
  friend bool operator==(const TextLayout&, const TextLayout&) = default;
};

// State of one input for one output format (identified by the extension: ".md"). The key is made before the
// first request, so that a request whose response was lost is never submitted twice.
struct ResumeEntry {
  // Size and modification time of the file, and the options; if it changed, the input is new.
  std::string stamp;
  std::string key;  // Idempotency-Key
  std::string job;  // empty: not acknowledged yet
  // "": in progress; "cancelling": cancel requested, not ended yet; "succeeded", "failed", "cancelled"
  std::string status;
  int pages = 0;
  TextLayout layout = {};  // of the output file
};

// The lock that a command holds while it works in the output folder `folder`. kBadRequest: another process
// holds it. On a file system without locks the lock has no effect.
base::Result<base::Fd> lock_outputs(const std::filesystem::path& folder, const std::string& command);

// DIR/.millrace-<command>.json: for each input and output format whether it is done, its running job and its
// output file. An input is recognised however its path is written, also after input and output folders are
// moved together. Written atomically.
class ResumeFile {
 public:
  // kBadRequest: the file exists but is not a resume file.
  static base::Result<ResumeFile> open(const std::filesystem::path& folder, std::string command);
  // The entry of an input for one format; a new entry if the stamp has changed. Versions 1 and 2 of the file
  // had one entry for all formats: the first format with the same stamp gets it.
  ResumeEntry& entry(const std::filesystem::path& input, const std::string& ending, const std::string& stamp);
  // True if the input is known from a file version that did not record outputs.
  bool has_no_known_output(const std::filesystem::path& input) const;
  // The output file of an input for an extension (".md"). Empty if it has none.
  std::string output(const std::filesystem::path& input, const std::string& ending) const;
  void set_output(const std::filesystem::path& input, const std::string& ending,
                  const std::filesystem::path& output);
  std::set<std::filesystem::path> outputs() const;  // outputs of all inputs
  base::Status save() const;

 private:
  struct Input {
    // By extension; "": from a version with one entry for all formats.
    std::map<std::string, ResumeEntry> forms;
    // By extension, relative to the output folder; never reassigned.
    std::map<std::string, std::string> outputs;
  };
  std::string key_of(const std::filesystem::path& input) const;

  std::filesystem::path folder_;  // canonical
  std::filesystem::path path_;
  std::string command_;
  std::map<std::string, Input> inputs_;
};

}  // namespace millrace::cli
