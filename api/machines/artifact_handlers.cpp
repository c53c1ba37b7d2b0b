#include <array>

#include "api/call.h"
#include "api/handlers.h"
#include "api/machines/machine_calls.h"
#include "api/media/download.h"
#include "api/media/file_stream.h"
#include "api/routing/list_query.h"
#include "api/routing/page.h"
#include "platform/base/crypto.h"
#include "schemas/machines/artifact.h"
#include "storage/machines/artifacts.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::Artifact;

struct ArtifactListQuery : PageQuery {
  std::string execution_id;
};

constexpr std::array kArtifactListFields{
    schemas::Field{.name = "execution_id",
                   .text = "Only artifacts of this execution",
                   .max = 64,
                   .store = &schemas::store_in<ArtifactListQuery, &ArtifactListQuery::execution_id>},
    limit_field<ArtifactListQuery>(),
    cursor_field<ArtifactListQuery>(),
};

struct ArtifactPath {
  base::Uuid machine, artifact;
};
// nullopt: the response was 404.
std::optional<ArtifactPath> path_artifact(Call& call) {
  const auto machine = path_machine(call);
  if (!machine) return std::nullopt;
  const auto artifact = schemas::artifact_id_from(call.params.at(1));
  if (artifact) return ArtifactPath{*machine, *artifact};
  call.fail(base::error(Code::kNotFound, "There is no such artifact"));
  return std::nullopt;
}

// The artifact that the path names. nullopt: an error was sent. Blocks; runs on the pool.
std::optional<Artifact> find_path_artifact(Context& context, Call& call) {
  const auto path = path_artifact(call);
  if (!path) return std::nullopt;
  auto found = storage::Artifacts(context.store).artifact(call.tenant(), path->machine, path->artifact);
  if (found) return std::move(*found);
  call.fail(found.error());
  return std::nullopt;
}

storage::ReplyBuilder<Artifact> shown_artifact(const Context& context) {
  return [url = context.options.public_url](const Artifact& artifact) {
    return schemas::artifact_json(artifact, url + "/v1/machines/" + schemas::machine_id(artifact.machine) +
                                                "/artifacts/" + schemas::artifact_id(artifact.id) +
                                                "/content");
  };
}

// Reads the execution filter of a list; `out` stays empty if none is named. False: the response was 422.
bool read_execution(Call& call, const std::string& text, std::optional<schemas::JobId>& out) {
  if (text.empty()) return true;
  out = schemas::JobId::parse(text);
  const bool good = out && out->kind == schemas::Kind::kExec;
  if (!good) refuse_query(call, "execution_id", "Input should be the id of an execution");
  return good;
}

Download download_of(const Artifact& artifact) {
  return {.sha256_hex = base::hex(artifact.sha256),
          .mime_type = artifact.mime_type,
          .name = artifact.name,
          .bytes = artifact.bytes};
}

// Writes the audit log first. If that fails, the file is not sent.
void send_audited(Context& context, const CallPtr& call, const Artifact& artifact, storage::OpenFile file,
                  ByteRange range, front::Reply head) {
  const bool only_head = call->head().method == "HEAD";
  if (only_head) return FileStream::start(context, call, std::move(file), range, std::move(head));
  const auto send = [&context, call, file = std::make_shared<storage::OpenFile>(std::move(file)), range,
                     head = std::move(head)] {
    FileStream::start(context, call, std::move(*file), range, head);
  };
  storage::Caller by{call->tenant(), call->principal->key_id};
  storage::Artifacts(context.store)
      .audit_download(artifact, std::move(by), [&context, call, send](const base::Result<bool>& recorded) {
        if (!recorded) return call->fail(recorded.error());
        reply_on_pool(context, call, send);
      });
}

}  // namespace

std::span<const schemas::Field> artifact_list_fields() { return kArtifactListFields; }

void list_artifacts(Context& context, CallPtr call) {
  if (!path_machine(*call)) return;
  ArtifactListQuery query;
  std::optional<base::Uuid> before;
  std::optional<schemas::JobId> execution;
  if (!read_query(*call, kArtifactListFields, &query)) return;
  if (!read_cursor(*call, query.cursor, &job_cursor_of, before)) return;
  if (!read_execution(*call, query.execution_id, execution)) return;
  const auto machine = find_path_machine(context, *call);
  if (!machine) return;
  const auto artifacts =
      storage::Artifacts(context.store).list(call->tenant(), machine->id, query.limit + 1, before, execution);
  if (!artifacts) return call->fail(artifacts.error());
  send_list(context, *call, *artifacts, query.limit, shown_artifact(context));
}

void get_artifact(Context& context, CallPtr call) {
  const auto artifact = find_path_artifact(context, *call);
  if (artifact) call->reply(json_reply(200, shown_artifact(context)(*artifact)));
}

void delete_artifact(Context& context, CallPtr call) {
  const auto path = path_artifact(*call);
  if (!path) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  storage::Artifacts(context.store)
      .remove(path->machine, path->artifact, idempotent_call(context, *call, std::move(*key)),
              shown_artifact(context), reply_callback(call));
}

void artifact_content(Context& context, CallPtr call) {
  const auto artifact = find_path_artifact(context, *call);
  if (!artifact) return;
  answer_download(*call, download_of(*artifact), [&](ByteRange range, front::Reply head) {
    auto file = storage::Artifacts(context.store).open(call->tenant(), artifact->machine, artifact->id);
    if (!file) return call->fail(file.error());
    send_audited(context, call, *artifact, std::move(*file), range, std::move(head));
  });
}

void send_artifact(Context& context, const CallPtr& call, const Artifact& artifact) {
  auto file = storage::Artifacts(context.store).open(call->tenant(), artifact.machine, artifact.id);
  if (!file) return call->fail(file.error());
  send_audited(context, call, artifact, std::move(*file), {0, artifact.bytes},
               download_reply(200, download_of(artifact)));
}

}  // namespace millrace::api
