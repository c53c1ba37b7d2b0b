#include "machines/sandbox/artifact_folder.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machines/sandbox/folder_entries.h"
#include "machines/sandbox/machine_folder.h"
#include "schemas/machines/artifact.h"
#include "schemas/machines/execution.h"

namespace millrace::machines {
namespace {

constexpr std::size_t kDepthMax = 16;
constexpr std::size_t kSeenMax = 10'000;

// Why an entry was left out.
enum class Reason : std::size_t { kLink, kHardLink, kSpecial, kLarge, kName, kDeep, kMany, kUnread, kCount };

std::string_view text_of(Reason reason) {
  switch (reason) {
    case Reason::kLink:
      return "symbolic link(s)";
    case Reason::kHardLink:
      return "file(s) with more than one name (hard links)";
    case Reason::kSpecial:
      return "FIFO(s), socket(s) or device(s)";
    case Reason::kLarge:
      return "file(s) above 100 MiB";
    case Reason::kName:
      return "entries whose path is not UTF-8 or is longer than 1024 bytes";
    case Reason::kDeep:
      return "folder(s) nested deeper than 16";
    case Reason::kMany:
      return "file(s) past the first 100";
    case Reason::kUnread:
      return "entries that cannot be read";
    case Reason::kCount:
      break;
  }
  return {};
}
static_assert(schemas::kArtifactBytesMax == std::int64_t{100} << 20 && schemas::kArtifactsMax == 100 &&
                  schemas::kArtifactNameMax == 1024 && kDepthMax == 16,
              "the texts above contain these numbers");

base::Fd reopened(const base::Fd& entry, int flags) {
  // The entry is not a link, so this opens the same file.
  const std::string self = "/proc/self/fd/" + std::to_string(entry.get());
  return base::Fd(::open(self.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

class Collector {
 public:
  CollectedArtifacts run(int folder) {
    enter(folder, "", 1);
    result_.note = note();
    return std::move(result_);
  }

 private:
  void enter(int folder, const std::string& prefix, std::size_t depth) {
    for (const std::string& name : names_in(folder, kSeenMax - seen_)) {
      if (++seen_ >= kSeenMax) return;
      look_at(folder, name, prefix + name, depth);
    }
  }

  void look_at(int folder, const std::string& name, const std::string& path, std::size_t depth) {
    const base::Fd entry = entry_of(folder, name);
    struct stat found {};
    if (!entry || ::fstat(entry.get(), &found) != 0) return leave_out(Reason::kUnread);
    if (S_ISLNK(found.st_mode)) return leave_out(Reason::kLink);
    if (!S_ISDIR(found.st_mode) && !S_ISREG(found.st_mode)) return leave_out(Reason::kSpecial);
    if (path.size() > schemas::kArtifactNameMax || !schemas::is_text(path)) return leave_out(Reason::kName);
    if (S_ISREG(found.st_mode)) return take(entry, found, path);
    if (depth > kDepthMax) return leave_out(Reason::kDeep);
    const base::Fd inner = reopened(entry, O_RDONLY | O_DIRECTORY);
    if (!inner) return leave_out(Reason::kUnread);
    enter(inner.get(), path + "/", depth + 1);
  }

  void take(const base::Fd& entry, const struct stat& found, const std::string& path) {
    if (found.st_nlink != 1) return leave_out(Reason::kHardLink);
    if (found.st_size > schemas::kArtifactBytesMax) return leave_out(Reason::kLarge);
    if (result_.files.size() == static_cast<std::size_t>(schemas::kArtifactsMax)) {
      return leave_out(Reason::kMany);
    }
    base::Fd content = reopened(entry, O_RDONLY);
    if (!content) return leave_out(Reason::kUnread);
    result_.files.push_back({path, found.st_size, std::move(content)});
  }

  void leave_out(Reason reason) { ++left_out_[static_cast<std::size_t>(reason)]; }

  std::string note() const {
    std::string text;
    for (std::size_t i = 0; i < left_out_.size(); ++i) {
      if (left_out_[i] == 0) continue;
      text.append(text.empty() ? "" : ", ").append(std::to_string(left_out_[i])).append(" ");
      text.append(text_of(static_cast<Reason>(i)));
    }
    if (!text.empty()) text.append(" were left out");
    if (seen_ >= kSeenMax)
      text.append(text.empty() ? "" : "; ").append("only the first 10000 entries were visited");
    return text;
  }

  CollectedArtifacts result_;
  std::size_t seen_ = 0;
  std::array<std::size_t, static_cast<std::size_t>(Reason::kCount)> left_out_{};
};

}  // namespace

CollectedArtifacts collect_artifacts(int folder) { return Collector().run(folder); }

namespace {

constexpr std::size_t kSweptAtOnce = 10'000;

void remove_folder(int parent, int folder, const std::string& name) {
  ::fchmod(folder, 0700);
  if (remove_below(folder)) ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

}  // namespace

ArtifactFolder::ArtifactFolder(base::Fd parent, base::Fd folder, std::string name, std::string path)
    : parent_(std::move(parent)),
      folder_(std::move(folder)),
      name_(std::move(name)),
      path_(std::move(path)) {}

base::Result<ArtifactFolder> ArtifactFolder::make(int root, const std::string& parent,
                                                  const std::string& name, uid_t uid) {
  if (auto made = make_folder(root, {parent, 0700, uid}); !made) return std::move(made.error());
  base::Fd above = open_folder(root, parent);
  std::string path = parent + "/" + name;
  bool made = above && ::mkdirat(above.get(), name.c_str(), 0700) == 0;
  if (above && !made && errno == EEXIST) {  // left by an attempt whose process was killed
    sweep(root, parent);
    made = ::mkdirat(above.get(), name.c_str(), 0700) == 0;
  }
  base::Fd folder = open_folder(root, path);
  const bool locked = made && folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
  if (!locked || (::geteuid() == 0 && ::fchown(folder.get(), uid, uid) != 0)) {
    return base::error(base::Code::kHostAgentFailed, "cannot create " + path + ": " + std::strerror(errno));
  }
  return ArtifactFolder(std::move(above), std::move(folder), name, std::move(path));
}

ArtifactFolder::~ArtifactFolder() {
  if (folder_) remove_folder(parent_.get(), folder_.get(), name_);
}

CollectedArtifacts ArtifactFolder::collect() const {
  ::fchmod(folder_.get(), 0700);
  return collect_artifacts(folder_.get());
}

void ArtifactFolder::sweep(int root, const std::string& parent) {
  const base::Fd above = open_folder(root, parent);
  if (!above) return;
  for (const std::string& name : names_in(above.get(), kSweptAtOnce)) {
    const base::Fd folder = open_folder(root, parent + "/" + name);
    if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) {
      remove_folder(above.get(), folder.get(), name);
    }
  }
}

}  // namespace millrace::machines
