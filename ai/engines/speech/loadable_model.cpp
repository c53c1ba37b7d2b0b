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

base::Status LoadableModel::verify(int fd, const SpeechFile& file) const {
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

base::Result<std::shared_ptr<const LoadableModel::Copies>> LoadableModel::copies() const {
  const std::lock_guard lock(mutex_);
  if (auto made = copies_.lock(); made && are_readable(*made)) return made;
  if (auto good = check(); !good) return std::move(good.error());
  auto copies = std::make_shared<Copies>();
  for (const SpeechFile& file : files_) {
    auto copy = copy_of(file.path);
    if (!copy) return std::move(copy.error());
    if (auto good = verify(copy->get(), file); !good) return std::move(good.error());
    copies->push_back(*std::move(copy));
  }
  copies_ = copies;
  return std::shared_ptr<const Copies>(std::move(copies));
}

}  // namespace millrace::engines
