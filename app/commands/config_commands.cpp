#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "app/commands/commands.h"
#include "app/commands/with_store.h"
#include "app/config/settings.h"
#include "app/config/settings_text.h"
#include "app/litellm/import.h"
#include "platform/base/bytes.h"

namespace millrace::app {
namespace {

// Writes a new file. An existing file is not changed.
int write_new(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return fail(path + ": cannot be created, or exists already");
  const ssize_t written = ::write(file, text.data(), text.size());
  const bool closed = ::close(file) == 0;
  if (closed && written == static_cast<ssize_t>(text.size())) return cli::kOk;
  return fail(path + ": cannot be written completely");
}

}  // namespace

int config_import(const ConfigImportRequest& request) {
  std::ifstream file(request.file);
  std::string text(base::kConfigBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || text.empty()) return fail(request.file + ": cannot be read, or is empty");
  if (text.size() > base::kConfigBytesMax)
    return fail(request.file + ": larger than " + base::format_bytes(base::kConfigBytesMax));
  const auto imported = import_litellm(request.file, text, environment());
  if (!imported) return fail(imported.error().message);
  for (const std::string& note : imported->notes) std::cerr << note << '\n';
  std::cerr << imported->rows << (imported->rows == 1 ? " row" : " rows") << " imported, "
            << imported->notes.size() << " notes\n";
  if (!request.output.empty() && request.output != "-") return write_new(request.output, imported->yaml);
  std::cout << imported->yaml;
  return cli::kOk;
}

int config_reference() {
  std::cout << settings_reference(settings_table());
  return cli::kOk;
}

}  // namespace millrace::app
