#pragma once
#include <memory>
#include <string>

#include <sched.h>

#include "platform/base/result.h"

// Shared by the seccomp filters of this module.
namespace millrace::process {

struct SeccompRelease {
  void operator()(void* context) const;
};
using SeccompContext = std::unique_ptr<void, SeccompRelease>;  // a scmp_filter_ctx

// The flags of clone and unshare that create namespaces.
inline constexpr unsigned long long kNamespaceFlags =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// Returns the filter as BPF bytes. kInternal: libseccomp failed.
base::Result<std::string> seccomp_bytes(const SeccompContext& context);

}  // namespace millrace::process
