#pragma once
#include <memory>
#include <string>

#include <sched.h>

#include "platform/base/result.h"

// What the seccomp filters of this room share.
namespace millrace::process {

struct SeccompRelease {
  void operator()(void* context) const;
};
using SeccompContext = std::unique_ptr<void, SeccompRelease>;  // a scmp_filter_ctx

// The flags of clone and unshare that make namespaces.
inline constexpr unsigned long long kNamespaceFlags =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// The filter as BPF bytes. kInternal: libseccomp refuses.
base::Result<std::string> seccomp_bytes(const SeccompContext& context);

}  // namespace millrace::process
