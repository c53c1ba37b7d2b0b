#pragma once
#include <string>
#include <vector>

namespace millrace::engines::host {

struct OnceOptions {
  std::string file;
  std::vector<int> pages;         // indexes from 0; empty: all
  std::string languages = "eng";  // of the recogniser
  bool json = false;              // one object per page instead of markdown
  bool image_data = false;
};

// Reads one file, a document or a recording, here and now, without a gateway and without a jail, and prints
// it: for looking and measuring. Returns the exit code: 0, or 1 with the error on stderr, or 3 when a page or
// piece failed.
int once(const OnceOptions& options);

// Whether the recogniser has its data for all of them. Returns the exit code: 0, or 1 and what is missing as
// the last line on stderr.
int check_languages(const std::string& languages);

}  // namespace millrace::engines::host
