#include <array>

#include "api/call.h"
#include "api/handlers.h"
#include "api/machines/machine_calls.h"
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

// The file name for the client: the last segment of the artifact's name, in two forms (RFC 6266).
std::string disposition(std::string_view name) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  name = name.substr(name.rfind('/') + 1);
  std::string plain, coded;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '.' || c == '_' || c == '-';
    plain += word ? c : '_';
    if (word) {
      coded += c;
    } else {
      coded.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  return "attachment; filename=\"" + plain + "\"; filename*=UTF-8''" + coded;
}

std::string etag_of(const Artifact& artifact) { return '"' + base::hex(artifact.sha256) + '"'; }

// The headers of every response with the bytes. They keep browsers from showing or running files that a
// command has written.
front::Reply content_reply(int status, const Artifact& artifact) {
  front::Reply reply{.status = status, .content_type = {}, .headers = {}, .body = {}};
  add_header(reply, "etag", etag_of(artifact));
  add_header(reply, "cache-control", "private, no-cache");
  if (status == 304) return reply;
  reply.content_type = artifact.mime_type;
  add_header(reply, "content-disposition", disposition(artifact.name));
  add_header(reply, "x-content-type-options", "nosniff");
  add_header(reply, "content-security-policy", "sandbox; default-src 'none'");
  return reply;
}

front::Reply rangeable(front::Reply reply) {
  add_header(reply, "accept-ranges", "bytes");
  return reply;
}

void refuse_range(Call& call, std::int64_t size) {
  constexpr int kUnsatisfied = 416;
  auto [content_type, body] = schemas::error_body(
      call.head().path, kUnsatisfied,
      "The file has " + std::to_string(size) + " bytes; the requested range contains none of them");
  front::Reply reply{.status = kUnsatisfied,
                     .content_type = std::move(content_type),
                     .headers = {},
                     .body = std::move(body)};
  add_header(reply, "content-range", "bytes */" + std::to_string(size));
  add_header(reply, "x-should-retry", "false");
  call.reply(std::move(reply));
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

void send_bytes(Context& context, const CallPtr& call, const Artifact& artifact, const RangeChoice& choice) {
  auto file = storage::Artifacts(context.store).open(call->tenant(), artifact.machine, artifact.id);
  if (!file) return call->fail(file.error());
  const bool part = choice.kind == RangeChoice::Kind::kPart;
  const ByteRange range = part ? choice.range : ByteRange{0, artifact.bytes};
  front::Reply head = rangeable(content_reply(part ? 206 : 200, artifact));
  if (part) {
    add_header(head, "content-range",
               "bytes " + std::to_string(range.first) + "-" + std::to_string(range.first + range.count - 1) +
                   "/" + std::to_string(artifact.bytes));
  }
  send_audited(context, call, artifact, std::move(*file), range, std::move(head));
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
  const std::string etag = etag_of(*artifact);
  if (is_unchanged(call->head(), etag)) return call->reply(rangeable(content_reply(304, *artifact)));
  const RangeChoice choice = choose_range(call->head(), etag, artifact->bytes);
  if (choice.kind == RangeChoice::Kind::kUnsatisfied) return refuse_range(*call, artifact->bytes);
  send_bytes(context, call, *artifact, choice);
}

void send_artifact(Context& context, const CallPtr& call, const Artifact& artifact) {
  auto file = storage::Artifacts(context.store).open(call->tenant(), artifact.machine, artifact.id);
  if (!file) return call->fail(file.error());
  send_audited(context, call, artifact, std::move(*file), {0, artifact.bytes}, content_reply(200, artifact));
}

}  // namespace millrace::api
