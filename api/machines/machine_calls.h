#pragma once
#include <optional>
#include <string_view>

#include "api/call_key.h"
#include "api/context.h"
#include "platform/base/ids.h"
#include "schemas/machines/artifact.h"
#include "schemas/machines/machine.h"
#include "storage/jobs/idempotent_call.h"

// Shared functions of the handlers under /v1/machines.
namespace millrace::api {

// True if the path has the name of a machine instead of its id.
bool has_machine_name(const Call& call);
// Puts the machine's id in place of its name into the parameters of the path and sets the canonical path. A
// name that no machine has becomes the id of no machine, so that the handler answers. False: an error was
// sent. Blocks; runs on the pool.
bool resolve_machine_name(Context& context, Call& call);

// The machine id in the path; nullopt: 404 was sent.
std::optional<base::Uuid> path_machine(Call& call);
// The machine in the path, if it belongs to the caller; nullopt: an error was sent. Blocks; runs on the pool.
std::optional<schemas::Machine> find_path_machine(Context& context, Call& call);

// optional_key for a call that requires a key. kBadRequest if it is missing; the message names the header and
// says that each `thing` needs a new key.
base::Result<storage::IdempotencyKey> required_key(Call& call, std::string_view thing);

// Sends all bytes of the artifact, as the route of its content does, after the audit log. Blocks; runs on the
// pool.
void send_artifact(Context& context, const CallPtr& call, const schemas::Artifact& artifact);

// Adds the header `retry-after-ms` if the body has `retry_after_ms`, because clients may read only the
// header.
void add_retry_after_header(front::Reply& reply);

}  // namespace millrace::api
