#include "machines/artifact_folder.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machines/folder_entries.h"
#include "machines/machine_folder.h"

namespace millrace::machines {
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
  if (above && !made && errno == EEXIST) {  // of an attempt whose process was killed
    sweep(root, parent);
    made = ::mkdirat(above.get(), name.c_str(), 0700) == 0;
  }
  base::Fd folder = open_folder(root, path);
  const bool locked = made && folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
  if (!locked || (::geteuid() == 0 && ::fchown(folder.get(), uid, uid) != 0)) {
    return base::error(base::Code::kHostAgentFailed, "cannot make " + path + ": " + std::strerror(errno));
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
