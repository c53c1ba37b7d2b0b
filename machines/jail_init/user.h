#pragma once

namespace millrace::machines {

// Executes a program as the user that runs a jail, without groups and capabilities and without a way to get
// new ones. `arguments` are those after kJailUser (machines/sandbox/jail_protocol.h). Uid 0 is refused:
// it could write the host's settings in /proc/sys from inside the jail. Returns only on failure, with the
// exit code.
int become_user(char** arguments);

}  // namespace millrace::machines
