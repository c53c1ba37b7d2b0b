#include "app/config/key_source.h"

#include <fstream>
#include <string_view>

namespace millrace::app {
namespace {

constexpr std::string_view kEnv = "env:";
constexpr std::string_view kFile = "file:";
constexpr std::size_t kKeyBytesMax = 16 * 1024;

std::string read_start(const std::string& path) {
  std::ifstream file(path);
  std::string text(kKeyBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

}  // namespace

bool KeySource::is_reference(const std::string& text) {
  return text.starts_with(kEnv) || text.starts_with(kFile);
}

base::Secret KeySource::variable(const std::string& name) const {
  const auto found = environment_.find(name);
  return found == environment_.end() ? base::Secret() : base::Secret(found->second);
}

base::Result<base::Secret> KeySource::read(const std::string& text) const {
  if (text.starts_with(kEnv)) {
    const std::string name = text.substr(kEnv.size());
    base::Secret secret = variable(name);
    if (!secret.empty()) return secret;
    return base::error(base::Code::kNotFound, "the environment does not set " + name);
  }
  if (text.starts_with(kFile)) {
    const std::string path = text.substr(kFile.size());
    base::Secret secret(read_start(path));
    if (!secret.empty()) return secret;
    return base::error(base::Code::kNotFound, "the file " + path + " cannot be read, or is empty");
  }
  return base::error(base::Code::kInvalidField,
                     "secrets are not allowed in this file: write env:NAME or file:PATH");
}

}  // namespace millrace::app
