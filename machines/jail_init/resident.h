#pragma once

namespace millrace::machines {

// Becomes a program of the host's with the limits of its jail. `words` are those after kJailResident
// (machines/jail_protocol.h). Returns only when it failed: the exit code.
int become_resident(char** words);

}  // namespace millrace::machines
