#include "ai/engines/speech/loadable_model.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>

#include "platform/process/memory_file.h"

namespace millrace::engines {
namespace {

constexpr const char* kFetchAgain = "; run scripts/setup to fetch it again, or install the package again";

base::Fd opened(const std::string& path) { return base::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

base::Result<base::Fd> copy_of(const std::string& path) {
  const base::Fd file = opened(path);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return base::error(base::Code::kInternal, "the model's file " + path + " cannot be read");
  return process::memory_copy(file.get(), static_cast<std::uint64_t>(status.st_size));
}

}  // namespace

namespace {

// A child that was taken over could have changed the mode of the copies that it shares with others.
bool are_readable(const LoadableModel::Copies& copies) {
  return std::all_of(copies.begin(), copies.end(), [](const base::Fd& copy) {
    struct stat status {};
    constexpr mode_t kAll = S_IRUSR | S_IRGRP | S_IROTH;
    return ::fstat(copy.get(), &status) == 0 && (status.st_mode & kAll) == kAll;
  });
}

}  // namespace

namespace {

std::vector<SpeechFile> files_with(std::vector<SpeechFile> files, const std::vector<SpeechFile>& further) {
  files.insert(files.end(), further.begin(), further.end());
  return files;
}

}  // namespace

LoadableModel::LoadableModel(std::shared_ptr<const LoadableModel> base,
                             const std::vector<SpeechFile>& further)
    : layout_(base->layout()), files_(files_with(base->files(), further)), base_(std::move(base)) {}

base::Status LoadableModel::check() const {
  for (const SpeechFile& file : files_) {
    base::Status good =
        file.known ? check_size(file.path, *file.known) : check_model_file(file.role, file.path);
    if (good) continue;
    if (file.known) good.error().message += kFetchAgain;
    return good;
  }
  return {};
}

base::Status LoadableModel::verify(int fd, const SpeechFile& file) {
  if (!file.known) return {};
  base::Status good = check_sum(fd, file.path, *file.known);
  if (!good) good.error().message += kFetchAgain;
  return good;
}

base::Status LoadableModel::check_contents() const {
  if (auto good = check(); !good) return good;
  for (const SpeechFile& file : files_) {
    if (auto good = verify(opened(file.path).get(), file); !good) return good;
  }
  return {};
}

base::Status LoadableModel::copy_files(Copies& copies) const {
  if (base_) {
    const auto shared = base_->copies();
    if (!shared) return shared.error();
    for (const base::Fd& copy : **shared) {
      base::Fd same(::fcntl(copy.get(), F_DUPFD_CLOEXEC, 0));
      if (!same) return base::error(base::Code::kOverloaded, "no file descriptor is left: raise `ulimit -n`");
      copies.push_back(std::move(same));
    }
  }
  for (std::size_t at = copies.size(); at < files_.size(); ++at) {
    auto copy = copy_of(files_[at].path);
    if (!copy) return std::move(copy.error());
    if (auto good = verify(copy->get(), files_[at]); !good) return good;
    copies.push_back(*std::move(copy));
  }
  return {};
}

base::Result<std::shared_ptr<const LoadableModel::Copies>> LoadableModel::copies() const {
  const std::lock_guard lock(mutex_);
  if (auto made = copies_.lock(); made && are_readable(*made)) return made;
  if (auto good = check(); !good) return std::move(good.error());
  auto copies = std::make_shared<Copies>();
  if (auto copied = copy_files(*copies); !copied) return std::move(copied.error());
  copies_ = copies;
  return std::shared_ptr<const Copies>(std::move(copies));
}

}  // namespace millrace::engines
