#pragma once
#include <string>

#include "machines/keys/ed25519_key.h"
#include "platform/base/result.h"

// The gateway's key files in OpenSSH's format. All functions block on the disk.
namespace millrace::machines {

// Reads the key in `path` (0600) with `path`.pub (0644). Creates whichever is missing; the folder must exist.
// Two processes that create the key at once get the same key. kInternal: it cannot be read or created, it is
// damaged, or other users may read it. The message contains the path and is for the operator.
base::Result<Ed25519Key> key_in_file(const std::string& path, const std::string& comment);

// Replaces or creates the file atomically: readers see either the old or the new bytes, even after a crash.
// kInternal as above, and if `path` exists but is not a regular file; it is then left unchanged.
base::Status replace_file(const std::string& path, const std::string& bytes, unsigned mode);

}  // namespace millrace::machines
