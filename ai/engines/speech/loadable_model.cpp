#include "ai/engines/speech/loadable_model.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "platform/process/memory_file.h"

namespace millrace::engines {
namespace {

base::Result<base::Fd> copy_of(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return base::error(base::Code::kInternal, "the model's file " + path + " cannot be read");
  return process::memory_copy(file.get(), static_cast<std::uint64_t>(status.st_size));
}

}  // namespace

base::Result<std::shared_ptr<const LoadableModel::Copies>> LoadableModel::copies() const {
  const std::lock_guard lock(mutex_);
  if (auto made = copies_.lock()) return made;
  auto copies = std::make_shared<Copies>();
  for (const SpeechFile& file : files_) {
    auto copy = copy_of(file.path);
    if (!copy) return std::move(copy.error());
    copies->push_back(*std::move(copy));
  }
  copies_ = copies;
  return std::shared_ptr<const Copies>(std::move(copies));
}

}  // namespace millrace::engines
