#pragma once

namespace millrace::machines {

// Runs a program of the host's as the jail's first process: with the limits of the jail, to its end. `words`
// are those after kJailResident (machines/sandbox/jail_protocol.h). The exit code: the program's, 128 and the
// number of the signal that ended it, or 1 if it could not be started, which descriptor 2 says.
int run_resident(char** words);

}  // namespace millrace::machines
