#pragma once
#include <string>
#include <vector>

namespace millrace::engines::host {

struct OnceOptions {
  std::string file;
  std::vector<int> pages;         // indexes from 0; empty: all
  std::string languages = "eng";  // of the recogniser
  std::string model;  // of recordings: millrace/moonshine-en or millrace/sphinx-en; empty: the first
                      // of them that is installed
  bool json = false;  // one object per page instead of markdown
  bool image_data = false;
};

// Reads one file, a document or a recording, in this process, without a gateway and without a jail, and
// prints the result. For inspection and measurements. Returns the exit code: 0; 1 with the error on stderr; 3
// when a page or piece failed.
int once(const OnceOptions& options);

// Checks that the recogniser has its data for all languages. Returns the exit code: 0, or 1 with the missing
// languages in the last line on stderr.
int check_languages(const std::string& languages);

}  // namespace millrace::engines::host
