#include <filesystem>
#include <iostream>

#include "app/commands/commands.h"
#include "app/commands/with_store.h"
#include "app/config/settings.h"
#include "platform/base/bytes.h"
#include "storage/backup/data_dir_copy.h"

namespace millrace::app {

int backup(const std::string& folder, const Flags& flags) {
  return with_store(flags, [&](OpenedStore& opened) {
    const storage::Store::Options& options = opened.store->options();
    if (!options.url.empty())
      return fail(
          "the jobs are in PostgreSQL (store.url): back up that database with its own tools, and after it "
          "the " +
          std::string(opened.blobs == storage::BlobPlace::kElsewhere ? "bucket of blobs.url"
                                                                     : "blobs of this folder"));
    const std::string& data = options.data_dir;
    const auto copied = storage::copy_data_dir(data, folder, options.disk_free_min_bytes, opened.blobs);
    if (!copied) return fail(copied.error().message);
    std::cerr << "millrace: " << data << " was copied: a database of "
              << base::short_bytes(copied->database_bytes) << ", " << copied->files
              << (copied->files == 1 ? " file of " : " files of ") << base::short_bytes(copied->file_bytes)
              << "\n";
    if (copied->gone > 0)
      std::cerr << "millrace: " << copied->gone << " files were removed with their jobs meanwhile\n";
    if (opened.blobs == storage::BlobPlace::kElsewhere)
      std::cerr
          << "millrace: documents and large results are not included: they are in the bucket of blobs.url\n";
    if (std::filesystem::exists(data + "/machines"))
      std::cerr << "millrace: disks of machines are not included: copy " << data
                << "/machines while they sleep\n";
    std::cout << folder << '\n';
    return static_cast<int>(cli::kOk);
  });
}

}  // namespace millrace::app
