#include "app/cli/batch_inputs.h"

#include <algorithm>
#include <map>
#include <set>

namespace millrace::cli {
namespace fs = std::filesystem;
namespace {

const fs::path kStandardInput = "/dev/stdin";

bool is_taken(const fs::path& path, const InputKinds& kinds) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kinds.endings.begin(), kinds.endings.end(), extension) != kinds.endings.end();
}

struct Found {
  fs::path file;
  fs::path relative;  // to what was named
};

struct Tree {
  std::vector<fs::path> files;
  std::vector<std::string> unread;  // "FOLDER: why"
};

// What is hidden is nobody's document: a trash folder, "._scan.pdf" beside a Mac's "scan.pdf".
bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

// Links to folders are not followed: they may lead back.
void add_entry(const fs::directory_entry& entry, const InputKinds& kinds, Tree& tree,
               std::vector<fs::path>& folders) {
  if (is_hidden(entry.path())) return;
  std::error_code unknown;
  if (entry.is_directory(unknown) && !entry.is_symlink(unknown)) {
    folders.push_back(entry.path());
  } else if (entry.is_regular_file(unknown) && is_taken(entry.path(), kinds)) {
    tree.files.push_back(entry.path());
  }
}

// What cannot be read is left out, not the end.
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

base::Status add_folder(const fs::path& folder, const InputKinds& kinds, std::vector<Found>& found,
                        std::vector<std::string>& skipped) {
  Tree tree = walk(folder, kinds);
  if (tree.files.empty()) {
    std::string message = folder.string() + ": no " + kinds.shown + " in this folder";
    for (const std::string& unread : tree.unread) message += "; " + unread;
    return base::error(base::Code::kInvalidField, std::move(message));
  }
  for (const fs::path& file : tree.files) found.push_back({file, file.lexically_relative(folder)});
  skipped.insert(skipped.end(), tree.unread.begin(), tree.unread.end());
  return {};
}

base::Error named_nothing() {
  return base::error(base::Code::kInvalidField,
                     "-: standard input has no name for a file in the output folder: leave -o out");
}

// A file that is named twice is one document.
void drop_repeated(std::vector<Found>& found) {
  std::set<fs::path> seen;
  std::erase_if(found, [&seen](const Found& item) {
    std::error_code failed;
    const fs::path real = fs::canonical(item.file, failed);
    return !failed && !seen.insert(real).second;
  });
}

std::vector<BatchInput> with_outputs(const std::vector<Found>& found, const fs::path& folder,
                                     const std::string& ending) {
  std::map<fs::path, int> uses;
  for (const Found& item : found) ++uses[fs::path(item.relative).replace_extension(ending)];
  std::map<fs::path, int> taken;
  std::vector<BatchInput> inputs;
  for (const Found& item : found) {
    fs::path name = fs::path(item.relative).replace_extension(ending);
    if (uses[name] > 1) name = item.relative.string() + ending;
    if (const int again = taken[name]++; again > 0) {
      name = item.relative.string() + "." + std::to_string(again + 1) + ending;
    }
    inputs.push_back({item.file, folder.empty() ? fs::path() : folder / name});
  }
  return inputs;
}

}  // namespace

base::Result<BatchInputs> collect_inputs(const std::vector<std::string>& paths, const fs::path& output_folder,
                                         const InputKinds& kinds) {
  std::vector<Found> found;
  std::vector<std::string> skipped;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (path == "-") {
      if (!output_folder.empty()) return named_nothing();
      found.push_back({kStandardInput, kStandardInput.filename()});
    } else if (fs::is_directory(path, failed)) {
      if (const base::Status added = add_folder(path, kinds, found, skipped); !added) return added.error();
    } else if (fs::exists(path, failed)) {
      found.push_back({path, fs::path(path).filename()});
    } else {
      return base::error(base::Code::kNotFound,
                         path + ": " + (failed ? failed.message() : "no such file or folder"));
    }
  }
  drop_repeated(found);
  return BatchInputs{with_outputs(found, output_folder, kinds.output_ending), std::move(skipped)};
}

}  // namespace millrace::cli
