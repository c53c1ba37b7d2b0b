#include "app/ocr_languages.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "app/engine_program.h"
#include "platform/process/child.h"
#include "platform/process/spawner.h"

namespace millrace::app {
namespace {

constexpr std::chrono::seconds kCheckWait{30};
constexpr std::size_t kCheckBytesMax = 4096;

// "chi_sim", "frk".
bool is_language(const std::string& name) {
  return !name.empty() && name.front() != '_' &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

base::Result<std::string> ocr_languages(const std::vector<std::string>& names) {
  std::string languages;
  for (const std::string& entry : names) {
    std::istringstream parts(entry);
    for (std::string name; std::getline(parts, name, '+');) {
      if (!is_language(name)) {
        return base::error(base::Code::kInvalidField,
                           "`" + name + "` is no language as Tesseract names them: eng, deu, chi_sim");
      }
      languages += (languages.empty() ? "" : "+") + name;
    }
  }
  if (!languages.empty()) return languages;
  return base::error(base::Code::kInvalidField, "at least one language is needed, such as eng");
}

base::Status have_ocr_languages(const std::string& languages) {
  process::Spawner spawner;
  process::Command command;
  command.argv = {engine_program(), "--check-languages", languages};
  command.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "OMP_THREAD_LIMIT=1"};
  const auto checked =
      process::capture(spawner, command, {.wall = kCheckWait, .output_bytes_max = kCheckBytesMax});
  if (!checked) return checked.error();
  if (checked->exit.code == 0) return {};
  return base::error(base::Code::kInternal, "ocr.languages: " + last_line(checked->err));
}

}  // namespace millrace::app
