#pragma once
#include <string>
#include <vector>

#include "platform/base/result.h"

// The languages of scanned text (ocr.languages).
namespace millrace::app {

// As the engine takes them, "eng+deu", from a list whose entries may be written like that, too. Error: one is
// no name of a language, or there is none.
base::Result<std::string> ocr_languages(const std::vector<std::string>& names);

// Whether the engine of this installation has its data for them. Blocks: 0.1 s for each. Error: what is
// missing, and how to install it.
base::Status have_ocr_languages(const std::string& languages);

}  // namespace millrace::app
