#pragma once

namespace millrace::engines::host {

// Serves requests (ai/engines/wire.h) from `socket` until it closes. Returns the exit code.
int serve(int socket);

}  // namespace millrace::engines::host
