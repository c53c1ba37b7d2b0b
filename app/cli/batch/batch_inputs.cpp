#include "app/cli/batch/batch_inputs.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

namespace millrace::cli {

namespace fs = std::filesystem;
namespace {

const fs::path kStandardInput = "/dev/stdin";

std::string ending_of(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

struct Tree {
  std::vector<fs::path> files;
  std::map<std::string, int> left_out;
  bool misses_inputs = false;
  std::vector<std::string> unread;  // "PATH: reason"
};

// Hidden files are not documents: a trash folder, or "._scan.pdf" that a Mac writes next to "scan.pdf".
bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

// Why an entry with a document's extension cannot be read. Empty: it is a file.
std::string why_unread(const fs::file_status& status, const std::error_code& failed) {
  if (fs::is_regular_file(status)) return {};
  if (status.type() == fs::file_type::not_found) return "a broken link";
  return failed ? failed.message() : "neither a file nor a folder";
}

// True if a file that is left out is a document or recording all the same.
bool is_missed(const fs::path& path, const std::string& ending, const InputKinds& kinds) {
  if (!ending.empty()) return std::ranges::find(kinds.similar, ending) != kinds.similar.end();
  std::string head(kInputHeadBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return kinds.is_input != nullptr && kinds.is_input(head);
}

// Links to folders are not followed: they may lead back.
void add_entry(const fs::directory_entry& entry, const InputKinds& kinds, Tree& tree,
               std::vector<fs::path>& folders) {
  const fs::path& path = entry.path();
  if (is_hidden(path)) return;
  std::error_code failed, unknown;
  const fs::file_status status = entry.status(failed);
  if (fs::is_directory(status)) {
    if (!entry.is_symlink(unknown)) return folders.push_back(path);
    return tree.unread.push_back(path.string() +
                                 ": a link to a folder is not followed; name the folder itself");
  }
  const std::string ending = ending_of(path);
  if (std::ranges::find(kinds.endings, ending) == kinds.endings.end()) {
    if (fs::is_regular_file(status) && is_missed(path, ending, kinds)) tree.misses_inputs = true;
    ++tree.left_out[ending];
    return;
  }
  const std::string why = why_unread(status, failed);
  if (why.empty()) return tree.files.push_back(path);
  tree.unread.push_back(path.string() + ": " + why);
}

// Entries that cannot be read are skipped.
Tree walk(const fs::path& root, const InputKinds& kinds) {
  Tree tree;
  for (std::vector<fs::path> folders = {root}; !folders.empty();) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    std::error_code failed;
    fs::directory_iterator entry(folder, failed);
    for (; !failed && entry != fs::directory_iterator(); entry.increment(failed))
      add_entry(*entry, kinds, tree, folders);
    if (failed) tree.unread.push_back(folder.string() + ": " + failed.message());
  }
  std::sort(tree.files.begin(), tree.files.end());
  std::sort(tree.unread.begin(), tree.unread.end());
  return tree;
}

void add_folder(const fs::path& folder, const InputKinds& kinds, BatchInputs& inputs) {
  const Tree tree = walk(folder, kinds);
  if (tree.files.empty() && tree.unread.empty())
    inputs.skipped.push_back(folder.string() + ": no " + kinds.shown + " in this folder");
  for (const fs::path& file : tree.files) inputs.documents.push_back({file, file.lexically_relative(folder)});
  for (const auto& [ending, count] : tree.left_out) inputs.left_out[ending] += count;
  inputs.misses_inputs |= tree.misses_inputs;
  inputs.skipped.insert(inputs.skipped.end(), tree.unread.begin(), tree.unread.end());
}

base::Error no_document(const std::vector<std::string>& skipped) {
  std::string message;
  for (const std::string& each : skipped) message += (message.empty() ? "" : "; ") + each;
  return base::error(base::Code::kInvalidField, std::move(message));
}

base::Error named_nothing() {
  return base::error(base::Code::kInvalidField,
                     "-: standard input has no name for a file in the output folder: leave -o out");
}

// True the first time that the folder is named, however its path is written.
bool named_first(const fs::path& folder, std::set<fs::path>& seen) {
  std::error_code failed;
  const fs::path real = fs::canonical(folder, failed);
  return failed || seen.insert(real).second;
}

// Removes files that are named twice.
void drop_repeated(std::vector<BatchInput>& inputs) {
  std::set<fs::path> seen;
  std::erase_if(inputs, [&seen](const BatchInput& item) {
    std::error_code failed;
    const fs::path real = fs::canonical(item.file, failed);
    return !failed && !seen.insert(real).second;
  });
}

}  // namespace

base::Result<BatchInputs> collect_inputs(const std::vector<std::string>& paths, const fs::path& output_folder,
                                         const InputKinds& kinds) {
  BatchInputs inputs;
  std::set<fs::path> folders;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (path == "-") {
      if (!output_folder.empty()) return named_nothing();
      inputs.documents.push_back({kStandardInput, kStandardInput.filename()});
    } else if (fs::is_directory(path, failed)) {
      if (named_first(path, folders)) add_folder(path, kinds, inputs);
    } else if (fs::exists(path, failed)) {
      inputs.documents.push_back({path, fs::path(path).filename()});
    } else {
      return base::error(base::Code::kNotFound,
                         path + ": " + (failed ? failed.message() : "no such file or folder"));
    }
  }
  if (inputs.documents.empty()) return no_document(inputs.skipped);
  drop_repeated(inputs.documents);
  return inputs;
}

namespace fs = std::filesystem;
namespace {

fs::path plain_name(const BatchInput& input, const std::string& ending) {
  return fs::path(input.relative).replace_extension(ending);
}

// Candidate names for an output. 1: the plain name; 2: with the input's own extension; from 3 on: with a
// number.
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
    const bool ours = resume.has_no_known_output(input.file);
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
