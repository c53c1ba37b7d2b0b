#pragma once
#include <optional>
#include <string>
#include <vector>

#include "schemas/machines/artifact.h"
#include "storage/blobs/blobs.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/store.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

// Files that commands have produced, for one tenant. Workers add them with JobOutcomes::artifacts; they are
// deleted with the execution's record. Writes never block; reads block: for pool threads.
class Artifacts {
 public:
  explicit Artifacts(Store& store) : store_(store) {}

  base::Result<schemas::Artifact> artifact(const std::string& tenant, const base::Uuid& machine,
                                           const base::Uuid& id);  // kNotFound
  // Newest first, before this id; `execution`: only those of one execution.
  base::Result<std::vector<schemas::Artifact>> list(const std::string& tenant, const base::Uuid& machine,
                                                    int limit, std::optional<base::Uuid> before,
                                                    std::optional<schemas::JobId> execution = {});
  // Its bytes; kNotFound.
  base::Result<OpenFile> open(const std::string& tenant, const base::Uuid& machine, const base::Uuid& id);
  // Deletes it and replies with its last state.
  void remove(base::Uuid machine, base::Uuid id, IdempotentCall call, ReplyBuilder<schemas::Artifact> reply,
              Callback<CallReply> done);
  // Records in the audit log that its bytes are sent. The caller sends them only after `done` reports
  // success.
  void audit_download(const schemas::Artifact& artifact, Caller by, Callback<bool> done);

 private:
  Store& store_;
};

}  // namespace millrace::storage
