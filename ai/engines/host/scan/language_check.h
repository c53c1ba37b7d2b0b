#pragma once
#include <optional>
#include <string>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/host/scan/scan_reader.h"

namespace millrace::engines::host {

// Notices recognised text in a script or a language whose data was not used: it reads as nonsense, or with
// wrong letters. `set`: the languages that were used, in Tesseract's syntax ("eng+deu"). Only text that does
// not look like a language is examined for its script, which takes about 0.2 s of processor time.
// nullopt: nothing was noticed. `gray` is the picture that was read.
std::optional<schemas::PageWarning> language_warning(const Reading& reading, const Picture& gray,
                                                     const std::string& set);

}  // namespace millrace::engines::host
