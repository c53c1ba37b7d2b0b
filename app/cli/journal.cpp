#include "app/cli/journal.h"

#include <cerrno>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cli/json_cells.h"

namespace millrace::cli {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr mode_t kJournalMode = 0644;

// False: the file was removed or replaced after it was opened.
bool is_at(const fs::path& path, int file) {
  struct stat opened {
  }, named{};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

bool Journal::is_for(const fs::path& output) {
  std::error_code unknown;
  const auto kind = fs::status(output, unknown).type();
  return output != "-" && (kind == fs::file_type::not_found || kind == fs::file_type::regular);
}

base::Result<Journal> Journal::beside(const fs::path& output, const std::string& command) {
  Journal journal;
  journal.path_ = output.parent_path() / (".millrace-" + command + "-" + output.filename().string());
  do {
    journal.file_.reset(
        ::open(journal.path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, kJournalMode));
    if (!journal.file_) return journal.failure();
    if (::flock(journal.file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      return base::error(base::Code::kBadRequest, "another `" + command + "` already writes " +
                                                      output.string() +
                                                      ": wait until it ends, or choose another output");
  } while (!is_at(journal.path_, journal.file_.get()));
  if (const base::Status loaded = journal.load(); !loaded) return loaded.error();
  return journal;
}

base::Status Journal::load() {
  std::ifstream in(path_, std::ios::binary);
  bool is_whole = true;
  for (std::string line; std::getline(in, line);) {
    is_whole = !in.eof();
    json entry = json::parse(line, nullptr, false);
    if (entry.is_object()) entries_.push_back(std::move(entry));
  }
  if (is_whole) return {};
  return ::write(file_.get(), "\n", 1) == 1 ? base::Status() : failure();
}

base::Status Journal::restart(json first) {
  entries_.clear();
  if (::ftruncate(file_.get(), 0) != 0) return failure();
  return add(std::move(first));
}

base::Status Journal::add(json entry) {
  const std::string line = local_json(entry) + "\n";
  if (::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) return failure();
  entries_.push_back(std::move(entry));
  return {};
}

void Journal::remove() { ::unlink(path_.c_str()); }

base::Error Journal::failure() const {
  return base::error(base::Code::kInternal,
                     "cannot write " + path_.string() + ": " + std::generic_category().message(errno));
}

}  // namespace millrace::cli
