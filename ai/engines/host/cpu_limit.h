#pragma once
#include <chrono>

namespace millrace::engines::host {

// Limits this process to `cpu` of processor time from now on, rounded up by less than two seconds. Beyond it
// the kernel ends the process (SIGXCPU), whatever code is running. Replaces the previous limit. Programs
// started later have their own limits.
void bound_cpu(std::chrono::milliseconds cpu);

// What is left of that limit; a day if there is none.
std::chrono::milliseconds cpu_left();

// Takes `cpu`, which another process has used for this one, from what is left, in whole seconds rounded down.
void spend_cpu(std::chrono::milliseconds cpu);

}  // namespace millrace::engines::host
