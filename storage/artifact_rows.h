#pragma once
#include <optional>
#include <string>
#include <vector>

#include "schemas/artifact.h"
#include "storage/blobs.h"
#include "storage/machine_calls.h"
#include "storage/store.h"
#include "storage/writer.h"

namespace millrace::storage {

// What commands have left, bound to a tenant (a worker adds them by JobOutcomes::artifacts; they go with the
// execution's record). Moves never block; reads block: pool threads.
class Artifacts {
 public:
  explicit Artifacts(Store& store) : store_(store) {}

  base::Result<schemas::Artifact> artifact(const std::string& tenant, const base::Uuid& machine,
                                           const base::Uuid& id);  // kNotFound
  // Newest first, before this id; `execution`: of one alone.
  base::Result<std::vector<schemas::Artifact>> list(const std::string& tenant, const base::Uuid& machine,
                                                    int limit, std::optional<base::Uuid> before,
                                                    std::optional<schemas::JobId> execution = {});
  // Its bytes, kNotFound.
  base::Result<OpenFile> open(const std::string& tenant, const base::Uuid& machine, const base::Uuid& id);
  // Removes it and replies with its last state.
  void remove(base::Uuid machine, base::Uuid id, MachineCall call, Compose<schemas::Artifact> reply,
              Done<Answer> done);
  // Has the audit log know that its bytes go out: whoever hands them out does so once `done` says so.
  void tell_of_download(const schemas::Artifact& artifact, Caller by, Done<bool> done);

 private:
  Store& store_;
};

}  // namespace millrace::storage
