#pragma once

namespace millrace::machines {

// Becomes a program as the user that runs a jail, without groups, capabilities or a way to new ones. `words`
// are those after kJailUser (machines/sandbox/jail_protocol.h). Never as uid 0, whose jail would be none (its
// /proc/sys is the host's). Returns only when it failed: the exit code.
int become_user(char** words);

}  // namespace millrace::machines
