#include <array>

#include "api/handlers.h"
#include "api/routing/content_replies.h"
#include "api/routing/route.h"
#include "schemas/machines/machine_file.h"

namespace millrace::api {
namespace {

using schemas::Scope;

// 8 MiB of standard input and 256 KiB of arguments and variables, if each byte is an escape of six
// characters.
constexpr std::size_t kExecutionBody = 50u << 20;

constexpr std::string_view kMachineExample =
    R"({"machine_id":"dm-01932b6c-8a00-7000-8000-000000000001","name":"local","driver":"sandbox","vcpu":1,"memory_mib":1024,)"
    R"("storage_gib":4,"autosleep_seconds":900,"desired_state":"running","phase":"running","created_at":"2025-01-31T08:00:00.000Z",)"
    R"("status":{"phase":"running","reason":"ready","retryable":false,"revision":"3","last_transition_at":"2025-01-31T08:00:01.000Z",)"
    R"("last_progress_at":"2025-01-31T08:00:01.000Z","memory_configured_mib":1024,"limits":"cgroup-v2","disk":"image"}})";
constexpr std::string_view kExecutionExample =
    R"({"execution_id":"exec-01932b6c-8a00-7000-8000-000000000001","machine_id":"dm-01932b6c-8a00-7000-8000-000000000001",)"
    R"("status":"queued","command":["sh","-c","echo $GREETING"],"created_at":"2025-01-31T08:00:00.000Z","env_keys":["GREETING"],)"
    R"("log_capture":{}})";
constexpr std::string_view kArtifactExample =
    R"({"artifact_id":"art-01932b6c-8a00-7000-8000-000000000001","machine_id":"dm-01932b6c-8a00-7000-8000-000000000001",)"
    R"("execution_id":"exec-01932b6c-8a00-7000-8000-000000000001","name":"report/index.html","size_bytes":5,"mime_type":"text/html",)"
    R"("sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","created_at":"2025-01-31T08:00:02.000Z",)"
    R"("expires_at":"2025-02-07T08:00:02.000Z","download_url":"/v1/machines/dm-01932b6c-8a00-7000-8000-000000000001)"
    R"(/artifacts/art-01932b6c-8a00-7000-8000-000000000001/content"})";
constexpr std::string_view kSessionExample =
    R"({"session_id":"ssh-01932b6c-8a00-7000-8000-000000000001","machine_id":"dm-01932b6c-8a00-7000-8000-000000000001",)"
    R"("status":"ready","created_at":"2025-01-31T08:00:00.000Z","expires_at":"2025-01-31T08:15:00.000Z","ready_at":"2025-01-31T08:00:00.000Z",)"
    R"("connection":{"endpoint":"127.0.0.1","port":40022,"ssh_username":"machine","host_trust":{"kind":"cert_authority",)"
    R"("host_pattern":"[127.0.0.1]:40022","public_key":"ssh-ed25519 AAAA…"},"user_certificate":"ssh-ed25519-cert-v01@openssh.com AAAA…"}})";

constexpr std::string_view kWait = "retry-after-ms";
constexpr std::string_view kMachineFileExample =
    R"({"path":"data/in.csv","size_bytes":5,"sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"})";
constexpr std::string_view kMachineFileAbout =
    "A file has at most 100 MiB. `path` begins at the machine's folder: /workspace, or the home of the user "
    "(driver `ssh`). No part of it may be `..`, and no symbolic link leads out of the folder. The file is "
    "copied by an execution, which `x-millrace-job` names: it wakes a machine that sleeps, needs a slot, and "
    "is deleted with the response unless it failed or the call has an Idempotency-Key. A GET whose client "
    "leaves is cancelled; there is no HEAD.";
constexpr std::string_view kMachineFileHeaders =
    "etag cache-control content-disposition x-content-type-options content-security-policy";
constexpr std::string_view kProblemType = "application/problem+json";
constexpr std::array kContentReplies = content_replies(kProblemType, "Problem");
constexpr std::array kMachineListReplies{
    ReplySpec{200, "One page of machines, newest first", kJsonType, "MachineList"}};
constexpr std::array kMachineReplies{
    ReplySpec{200, "The machine with its status", kJsonType, "Machine", kMachineExample}};
constexpr std::array kCreateExecutionReplies{
    ReplySpec{200, "The execution; if the key was used before, that execution in its current state",
              kJsonType, "Execution", kExecutionExample, kWait}};
constexpr std::array kExecutionListReplies{
    ReplySpec{200, "One page of executions, newest first", kJsonType, "ExecutionList"}};
constexpr std::array kExecutionReplies{
    ReplySpec{200, "The execution", kJsonType, "Execution", kExecutionExample, kWait}};
constexpr std::array kDeleteExecutionReplies{
    ReplySpec{200, "The execution, which is being cancelled; or, if it had ended, the deleted execution",
              kJsonType, "Execution", kExecutionExample}};
constexpr std::array kOutputReplies{
    ReplySpec{200, "The stored part of what the command has written so far", kJsonType, "ExecutionOutput"}};
constexpr std::array kExecutionEventReplies{
    ReplySpec{200, "One page of events", kJsonType, "ExecutionEventList"},
    ReplySpec{200, "With `Accept: text/event-stream`: a live stream of events, until the command has ended",
              kSse},
    ReplySpec{204, "The stream was resumed past its end; no more events follow"}};
constexpr std::array kArtifactListReplies{
    ReplySpec{200, "One page of artifacts, newest first", kJsonType, "ArtifactList"}};
constexpr std::array kArtifactReplies{
    ReplySpec{200, "The artifact", kJsonType, "Artifact", kArtifactExample}};
constexpr std::array kDeleteArtifactReplies{
    ReplySpec{200, "The deleted artifact", kJsonType, "Artifact", kArtifactExample}};
constexpr std::array kPutFileReplies{
    ReplySpec{200, "The file was replaced", kJsonType, "MachineFile", kMachineFileExample},
    ReplySpec{201, "The file is new; after a lost worker it may be 200", kJsonType, "MachineFile",
              kMachineFileExample},
    ReplySpec{504, "The file could not be copied in time", kProblemType, "Problem"}};
constexpr std::array kGetFileReplies{
    ReplySpec{200,
              "All of its bytes; the media type follows from its name",
              "application/octet-stream",
              "Bytes",
              {},
              kMachineFileHeaders},
    ReplySpec{504, "The file could not be copied in time", kProblemType, "Problem"}};
constexpr std::array kDeleteFileReplies{
    ReplySpec{204, "The file is deleted"},
    ReplySpec{504, "The machine did not end the command in time", kProblemType, "Problem"}};
constexpr std::array kSessionListReplies{
    ReplySpec{200, "One page of SSH sessions, newest first", kJsonType, "SshSessionList"}};
constexpr std::array kSessionReplies{ReplySpec{200, "The session; with `connection` once it is `ready`",
                                               kJsonType, "SshSession", kSessionExample, kWait}};
constexpr std::array kCloseSessionReplies{
    ReplySpec{200, "The closed session; its certificate is revoked", kJsonType, "SshSession"}};

// clang-format off
const std::array kMachineRoutes{
    get("/v1/machines", Scope::kExecRead, Lane::kPool, &list_machines,
        {.id = "listMachines", .tag = "machines", .summary = "List machines", .replies = kMachineListReplies,
         .query = machine_list_fields()}),
    write_route(Method::kPost, "/v1/machines", Scope::kMachinesWrite, Lane::kBody, &create_machine,
        {.id = "createMachine", .tag = "machines", .summary = "Create a machine", .replies = kMachineReplies,
         .headers = "IdempotencyKeyReply", .body = "MachineChange", .state = true, .job = JobReplies::kReplayed}),
    get("/v1/machines/{machine_id}", Scope::kExecRead, Lane::kPool, &get_machine,
        {.id = "getMachine", .tag = "machines", .summary = "Get a machine", .replies = kMachineReplies}),
    write_route(Method::kPatch, "/v1/machines/{machine_id}", Scope::kMachinesWrite, Lane::kBody, &change_machine,
        {.id = "changeMachine", .tag = "machines", .summary = "Change a machine's size, name or autosleep",
         .replies = kMachineReplies, .headers = "IdempotencyKeyReply", .body = "MachineChange", .state = true,
         .job = JobReplies::kReplayed}),
    delete_route("/v1/machines/{machine_id}", Scope::kMachinesWrite, Lane::kFront, &delete_machine,
        {.id = "deleteMachine", .tag = "machines", .summary = "Destroy a machine and its disk",
         .replies = kMachineReplies, .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kReplayed}),
    write_route(Method::kPost, "/v1/machines/{machine_id}/sleep", Scope::kMachinesWrite, Lane::kFront, &sleep_machine,
        {.id = "sleepMachine", .tag = "machines", .summary = "Put a machine to sleep; its disk stays", .replies = kMachineReplies,
         .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kReplayed}),
    write_route(Method::kPost, "/v1/machines/{machine_id}/wake", Scope::kMachinesWrite, Lane::kFront, &wake_machine,
        {.id = "wakeMachine", .tag = "machines", .summary = "Wake a machine", .replies = kMachineReplies,
         .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kReplayed}),
    write_route(Method::kPost, "/v1/machines/{machine_id}/reboot", Scope::kMachinesWrite, Lane::kBody, &reboot_machine,
        {.id = "rebootMachine", .tag = "machines", .summary = "Reboot a machine", .replies = kMachineReplies,
         .headers = "IdempotencyKeyReply", .body = "Reboot", .state = true, .job = JobReplies::kReplayed}),

    for_batches(Route{Method::kPost, "/v1/machines/{machine_id}/executions", Access::kScope, Scope::kExecRun, BodyKind::kJson,
          kExecutionBody, Lane::kPool, &create_execution,
          {.id = "createExecution", .tag = "executions", .summary = "Run a command on a machine",
           .replies = kCreateExecutionReplies, .headers = "IdempotencyKeyRequired WebhookUrl Traceparent",
           .body = "ExecutionRequest", .state = true, .job = JobReplies::kKeyed}}),
    get("/v1/machines/{machine_id}/executions", Scope::kExecRead, Lane::kPool, &list_executions,
        {.id = "listExecutions", .tag = "executions", .summary = "List a machine's executions",
         .replies = kExecutionListReplies, .query = execution_list_fields()}),
    get("/v1/machines/{machine_id}/executions/{execution_id}", Scope::kExecRead, Lane::kPool, &get_execution,
        {.id = "getExecution", .tag = "executions", .summary = "Get an execution", .replies = kExecutionReplies,
         .job = JobReplies::kNamed}),
    delete_route("/v1/machines/{machine_id}/executions/{execution_id}", Scope::kExecRun, Lane::kPool, &delete_execution,
        {.id = "deleteExecution", .tag = "executions",
         .summary = "Cancel a running execution, or delete an ended one",
         .replies = kDeleteExecutionReplies, .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kKeyed}),
    get("/v1/machines/{machine_id}/executions/{execution_id}/output", Scope::kExecRead, Lane::kPool, &execution_output,
        {.id = "getExecutionOutput", .tag = "executions", .summary = "Get the output of an execution",
         .replies = kOutputReplies, .job = JobReplies::kNamed}),
    get("/v1/machines/{machine_id}/executions/{execution_id}/events", Scope::kExecRead, Lane::kPool, &execution_events,
        {.id = "listExecutionEvents", .tag = "executions",
         .summary = "List or stream the events of an execution", .replies = kExecutionEventReplies,
         .query = job_event_fields(), .headers = "LastEventId", .job = JobReplies::kNamed}),

    Route{Method::kPut, "/v1/machines/{machine_id}/files/{path...}", Access::kScope, Scope::kExecRun, BodyKind::kFile,
          static_cast<std::size_t>(schemas::kMachineFileBytesMax), Lane::kFront, &put_file,
          {.id = "putFile", .tag = "files", .summary = "Copy a file into a machine", .replies = kPutFileReplies,
           .headers = "IdempotencyKeyReply", .body = "Bytes", .state = true, .job = JobReplies::kKeyed, .about = kMachineFileAbout}},
    without_head(get("/v1/machines/{machine_id}/files/{path...}", Scope::kExecRun, Lane::kPool, &get_file,
        {.id = "getFile", .tag = "files", .summary = "Copy a file out of a machine", .replies = kGetFileReplies,
         .state = true, .job = JobReplies::kNamed, .about = kMachineFileAbout})),
    delete_route("/v1/machines/{machine_id}/files/{path...}", Scope::kExecRun, Lane::kPool, &delete_file,
        {.id = "deleteFile", .tag = "files", .summary = "Delete a file of a machine", .replies = kDeleteFileReplies,
         .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kKeyed, .about = kMachineFileAbout}),

    get("/v1/machines/{machine_id}/artifacts", Scope::kExecRead, Lane::kPool, &list_artifacts,
        {.id = "listArtifacts", .tag = "artifacts", .summary = "List artifacts of a machine",
         .replies = kArtifactListReplies, .query = artifact_list_fields()}),
    get("/v1/machines/{machine_id}/artifacts/{artifact_id}", Scope::kExecRead, Lane::kPool, &get_artifact,
        {.id = "getArtifact", .tag = "artifacts", .summary = "Get an artifact", .replies = kArtifactReplies}),
    delete_route("/v1/machines/{machine_id}/artifacts/{artifact_id}", Scope::kExecRun, Lane::kFront, &delete_artifact,
        {.id = "deleteArtifact", .tag = "artifacts", .summary = "Delete an artifact", .replies = kDeleteArtifactReplies,
         .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kReplayed}),
    get("/v1/machines/{machine_id}/artifacts/{artifact_id}/content", Scope::kExecRead, Lane::kPool, &artifact_content,
        {.id = "getArtifactContent", .tag = "artifacts", .summary = "Download an artifact",
         .replies = kContentReplies, .headers = "Range IfRange IfNoneMatch"}),

    Route{Method::kPost, "/v1/machines/{machine_id}/ssh", Access::kScope, Scope::kSshIssue, BodyKind::kJson, kSmallBody,
          Lane::kBody, &create_ssh_session,
          {.id = "createSshSession", .tag = "ssh", .summary = "Create an SSH session",
           .replies = kSessionReplies, .headers = "IdempotencyKeyReplyRequired", .body = "SshRequest", .state = true,
           .job = JobReplies::kReplayed}},
    get("/v1/machines/{machine_id}/ssh", Scope::kSshIssue, Lane::kPool, &list_ssh_sessions,
        {.id = "listSshSessions", .tag = "ssh", .summary = "List a machine's SSH sessions", .replies = kSessionListReplies,
         .query = ssh_list_fields()}),
    get("/v1/machines/{machine_id}/ssh/{session_id}", Scope::kSshIssue, Lane::kPool, &get_ssh_session,
        {.id = "getSshSession", .tag = "ssh", .summary = "Get an SSH session", .replies = kSessionReplies}),
    delete_route("/v1/machines/{machine_id}/ssh/{session_id}", Scope::kSshIssue, Lane::kPool, &close_ssh_session,
        {.id = "closeSshSession", .tag = "ssh", .summary = "Close an SSH session and revoke its certificate",
         .replies = kCloseSessionReplies, .headers = "IdempotencyKeyReply", .state = true, .job = JobReplies::kReplayed}),
};
// clang-format on

}  // namespace

std::span<const Route> machine_routes() { return kMachineRoutes; }

}  // namespace millrace::api
