#pragma once
#include <chrono>
#include <string>

namespace millrace::engines::host {

// Limits this process to `cpu` of processor time from now on, rounded up by less than two seconds. Beyond it
// the kernel ends the process (SIGXCPU), whatever code is running. Replaces the previous limit. Programs
// started later have their own limits.
void bound_cpu(std::chrono::milliseconds cpu);

// Serves requests (ai/engines/protocol/wire.h) from `socket` until it closes. Reads scanned text in
// `languages` (Recogniser). Returns the exit code.
int serve(int socket, const std::string& languages);

}  // namespace millrace::engines::host
