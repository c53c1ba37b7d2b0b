#include "app/cli/output_names.h"

#include <map>
#include <set>

namespace millrace::cli {
namespace fs = std::filesystem;
namespace {

fs::path plain_name(const BatchInput& input, const std::string& ending) {
  return fs::path(input.relative).replace_extension(ending);
}

// 1: the plain name; 2: with the input's own ending; from 3 on: with a number.
fs::path candidate(const BatchInput& input, const std::string& ending, int number) {
  if (number == 1) return plain_name(input, ending);
  const std::string count = number == 2 ? "" : "." + std::to_string(number - 1);
  return input.relative.string() + count + ending;
}

}  // namespace

void name_outputs(std::vector<BatchInput>& inputs, const fs::path& folder, const std::string& ending,
                  ResumeFile& resume) {
  std::set<fs::path> taken = resume.outputs();
  std::map<fs::path, int> uses;
  for (const BatchInput& input : inputs) {
    if (resume.output(input.file, ending).empty()) ++uses[plain_name(input, ending)];
  }
  const auto is_free = [&](const fs::path& name, bool may_be_there) {
    std::error_code unknown;
    return !taken.contains(name) && (may_be_there || !fs::exists(folder / name, unknown));
  };
  for (BatchInput& input : inputs) {
    fs::path name = resume.output(input.file, ending);
    const bool is_new = name.empty();
    const bool ours = resume.knows_no_output(input.file);
    int number = uses[plain_name(input, ending)] > 1 ? 2 : 1;
    while (name.empty()) {
      const fs::path next = candidate(input, ending, number++);
      if (is_free(next, ours)) name = next;
    }
    if (is_new) resume.set_output(input.file, ending, name);
    taken.insert(name);
    input.output = folder / name;
  }
}

}  // namespace millrace::cli
