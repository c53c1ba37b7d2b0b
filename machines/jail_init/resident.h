#pragma once

namespace millrace::machines {

// Runs a program of the host, with the limits of the jail, until it ends. Runs as the first process of the
// jail. `arguments` are those after kJailResident (machines/sandbox/jail_protocol.h). Returns the exit
// code: that of the program, or 128 plus the number of the signal that ended it, or 1 if it could not be
// started; the reason is then written to descriptor 2.
int run_resident(char** arguments);

}  // namespace millrace::machines
