#pragma once
#include <string>

namespace millrace::engines::host {

// Serves requests (ai/engines/protocol/wire.h) from `socket` until it closes. Reads scanned text in
// `languages` (Recogniser). Returns the exit code.
int serve(int socket, const std::string& languages);

}  // namespace millrace::engines::host
