#pragma once
#include <string>

#include "machines/keys/ed25519_key.h"
#include "platform/base/result.h"

// Key files of this gateway's own, as OpenSSH keeps them. Everything blocks on the disk.
namespace millrace::machines {

// The key in `path` (0600) with its `.pub` (0644) beside it; what is missing of them is made, its folder must
// be there. Two that make it at once get the same. kInternal: it cannot be read or made, or is damaged, or
// other users may read it; the message names the path: for the operator.
base::Result<Ed25519Key> key_in_file(const std::string& path, const std::string& comment);

// Replaces the file, or makes it, at once: readers see the old bytes or the new, also after a crash.
// kInternal as above; also for what is no file: nothing is taken away.
base::Status replace_file(const std::string& path, const std::string& bytes, unsigned mode);

}  // namespace millrace::machines
