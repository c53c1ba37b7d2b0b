#pragma once
#include <chrono>
#include <string>

namespace millrace::engines::host {

// From now on this process may use `cpu` of processor time, rounded up by less than two seconds; then the
// kernel ends it (SIGXCPU), whatever code it is in. Replaces the bound set before. Programs started later
// have bounds of their own.
void bound_cpu(std::chrono::milliseconds cpu);

// Serves requests (ai/engines/protocol/wire.h) from `socket` until it closes; scanned text is read in
// `languages` (Recogniser). Returns the exit code.
int serve(int socket, const std::string& languages);

}  // namespace millrace::engines::host
