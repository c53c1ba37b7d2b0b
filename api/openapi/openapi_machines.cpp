#include <nlohmann/json.hpp>

#include "api/openapi/openapi.h"
#include "schemas/machines/execution.h"
#include "schemas/machines/machine_request.h"
#include "schemas/machines/ssh_session.h"

namespace millrace::api {
namespace {

using nlohmann::json;

constexpr std::string_view kMachineSchemas = R"json({
  "MachineStatus": {"type": "object",
    "required": ["phase", "reason", "retryable", "revision", "last_transition_at", "last_progress_at", "memory_configured_mib"],
    "properties": {
      "phase": {"$ref": "#/components/schemas/MachinePhase"}, "reason": {"type": "string"},
      "retryable": {"type": "boolean"}, "revision": {"type": "string"},
      "last_transition_at": {"type": "string", "format": "date-time"},
      "last_progress_at": {"type": "string", "format": "date-time"},
      "last_error": {"type": "string", "description": "The error of its last operation"}, "memory_configured_mib": {"type": "integer"},
      "limits": {"type": "string", "enum": ["cgroup-v2", "cgroup-v1", "rlimits"],
        "description": "How its size is enforced: cgroups limit the sum of its processes, rlimits limit each process"},
      "disk": {"type": "string", "enum": ["image", "watched", "read_only"],
        "description": "`image`: the disk cannot grow beyond storage_gib; `watched`: a command that exceeds storage_gib is killed; `read_only`: an image that can only be read until it is repaired"},
      "disk_problem": {"type": "string", "description": "Why writes on the machine fail or may fail: its disk became read-only, or the host's disk is nearly full"}}},
  "MachinePhase": {"type": "string", "enum": ["accepted", "placement_pending", "starting", "running", "stopping",
    "sleeping", "destroying", "destroyed", "failed"]},
  "Machine": {"type": "object",
    "required": ["machine_id", "name", "driver", "vcpu", "memory_mib", "storage_gib", "autosleep_seconds",
      "desired_state", "phase", "created_at"],
    "properties": {
      "machine_id": {"type": "string", "minLength": 4, "maxLength": 253}, "name": {"type": "string"},
      "driver": {"type": "string", "enum": ["sandbox", "ssh"]}, "vcpu": {"type": "number"},
      "memory_mib": {"type": "integer"}, "storage_gib": {"type": "integer"},
      "autosleep_seconds": {"type": "integer", "description": "0: never"},
      "desired_state": {"type": "string", "enum": ["running", "sleeping", "destroyed"]},
      "phase": {"$ref": "#/components/schemas/MachinePhase"},
      "created_at": {"type": "string", "format": "date-time"},
      "host": {"type": "string", "description": "The host that it runs on, if the gateway has several"},
      "status": {"$ref": "#/components/schemas/MachineStatus"}}},
  "MachineList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/Machine"}}, "next_cursor": {"type": "string"}}},
  "Artifact": {"type": "object",
    "required": ["artifact_id", "machine_id", "name", "size_bytes", "mime_type", "sha256", "created_at", "download_url"],
    "properties": {
      "artifact_id": {"type": "string"}, "machine_id": {"type": "string"}, "execution_id": {"type": "string"},
      "name": {"type": "string", "description": "Its path below $MILLRACE_ARTIFACTS"}, "size_bytes": {"type": "integer"},
      "mime_type": {"type": "string"}, "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
      "created_at": {"type": "string", "format": "date-time"},
      "expires_at": {"type": "string", "format": "date-time"},
      "download_url": {"type": "string", "description": "Requires a key"}}},
  "ArtifactList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/Artifact"}}, "next_cursor": {"type": "string"}}},
  "Bytes": {"type": "string", "contentEncoding": "binary"},
  "MachineFile": {"type": "object", "required": ["path", "size_bytes", "sha256"], "properties": {
    "path": {"type": "string", "description": "Below the machine's folder"}, "size_bytes": {"type": "integer"},
    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}},
  "SshStatus": {"type": "string", "enum": ["wake_in_progress", "ready", "closed", "expired", "failed"]},
  "SshConnection": {"type": "object", "required": ["endpoint", "port", "ssh_username", "host_trust", "user_certificate"],
    "properties": {
      "endpoint": {"type": "string"}, "port": {"type": "integer"}, "ssh_username": {"type": "string"},
      "host_trust": {"type": "object", "required": ["kind", "host_pattern", "public_key"], "properties": {
        "kind": {"const": "cert_authority"},
        "host_pattern": {"type": "string", "description": "known_hosts: `@cert-authority <host_pattern> <public_key>`"},
        "public_key": {"type": "string"}}},
      "user_certificate": {"type": "string", "description": "One line: the file `<key>-cert.pub`"}}},
  "SshSession": {"type": "object", "required": ["session_id", "machine_id", "status", "created_at", "expires_at"],
    "properties": {
      "session_id": {"type": "string"}, "machine_id": {"type": "string"},
      "status": {"$ref": "#/components/schemas/SshStatus"},
      "created_at": {"type": "string", "format": "date-time"},
      "expires_at": {"type": "string", "format": "date-time", "description": "When the certificate expires"},
      "ready_at": {"type": "string", "format": "date-time"},
      "connection": {"$ref": "#/components/schemas/SshConnection"},
      "retry_after_ms": {"type": "integer"},
      "error_code": {"type": "string"}, "error_message": {"type": "string"}}},
  "SshSessionList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/SshSession"}}, "next_cursor": {"type": "string"}}},
  "ExecutionStatus": {"type": "string",
    "enum": ["wake_in_progress", "queued", "running", "succeeded", "failed", "cancelled", "expired"]},
  "ExecutionErrorCode": {"type": "string",
    "enum": ["machine_not_found", "machine_not_routable", "machine_wake_failed", "execution_timed_out",
      "execution_not_started", "execution_runner_prepare_failed", "host_agent_execute_failed", "worker_lost",
      "out_of_memory", "out_of_disk", "process_limit", "cpu_time_exceeded"]},
  "Execution": {"type": "object",
    "required": ["execution_id", "machine_id", "status", "command", "created_at", "log_capture"],
    "properties": {
      "execution_id": {"type": "string"}, "machine_id": {"type": "string"},
      "status": {"$ref": "#/components/schemas/ExecutionStatus"},
      "command": {"type": "array", "items": {"type": "string"}},
      "cwd": {"type": "string"},
      "env_keys": {"type": "array", "items": {"type": "string"},
        "description": "Names of the variables that were sent; their values are never shown"},
      "created_at": {"type": "string", "format": "date-time"},
      "run_at": {"type": "string", "format": "date-time",
        "description": "When it starts; only while it waits for this time, in status `queued`. Its job is `scheduled`"},
      "started_at": {"type": "string", "format": "date-time"},
      "completed_at": {"type": "string", "format": "date-time"},
      "expires_at": {"type": "string", "format": "date-time", "description": "When the record and its output are deleted"},
      "exit_code": {"type": "integer"}, "signal": {"type": "integer"},
      "error_code": {"$ref": "#/components/schemas/ExecutionErrorCode"}, "error_message": {"type": "string"},
      "retry_after_ms": {"type": "integer"},
      "stdout_bytes": {"type": "integer", "description": "Bytes written, including those beyond the stored part"},
      "stdout_truncated": {"type": "boolean"},
      "stderr_bytes": {"type": "integer"}, "stderr_truncated": {"type": "boolean"},
      "output_open": {"type": "boolean",
        "description": "A process still held the output open exec.output_grace after the command's end, and was killed"},
      "artifacts": {"type": "array", "items": {"type": "object", "required": ["artifact_id", "name"], "properties": {
        "artifact_id": {"type": "string"}, "name": {"type": "string"}}}},
      "log_capture": {"type": "object"}}},
  "ExecutionList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/Execution"}}, "next_cursor": {"type": "string"}}},
  "ExecutionOutput": {"type": "object", "required": ["execution_id"], "properties": {
    "execution_id": {"type": "string"}, "stdout": {"type": "string"}, "stderr": {"type": "string"},
    "stdout_encoding": {"const": "base64", "description": "Only where the bytes are not UTF-8"},
    "stderr_encoding": {"const": "base64"},
    "stdout_bytes": {"type": "integer"}, "stderr_bytes": {"type": "integer"},
    "stdout_truncated": {"type": "boolean"}, "stderr_truncated": {"type": "boolean"}}},
  "ExecutionEvent": {"type": "object", "required": ["sequence", "at", "type"], "properties": {
    "sequence": {"type": "integer", "minimum": 1}, "at": {"type": "string", "format": "date-time"},
    "type": {"type": "string", "enum": ["lifecycle", "stdout", "stderr"]},
    "chunk": {"type": "string"}, "encoding": {"const": "base64", "description": "Only where the bytes are not UTF-8"},
    "status": {"$ref": "#/components/schemas/ExecutionStatus"},
    "message": {"type": "string", "description": "A warning in a lifecycle event, for example about files that were left out"},
    "exit_code": {"type": "integer"}, "signal": {"type": "integer"},
    "error_code": {"$ref": "#/components/schemas/ExecutionErrorCode"}, "error_message": {"type": "string"}}},
  "ExecutionEventList": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/ExecutionEvent"}},
    "next_cursor": {"type": "string"}}},
  "MachineError": {"type": "object", "required": ["error_code", "message", "retryable", "error"], "properties": {
    "error": {"$ref": "#/components/schemas/ErrorObject"},
    "error_code": {"type": "string", "enum": ["AUTH_REQUIRED", "AUTH_INVALID", "AUTH_SCOPE_FORBIDDEN",
      "IDEMPOTENCY_KEY_REUSED", "INVALID_STATE", "RATE_LIMITED", "QUOTA_EXCEEDED",
      "DEPENDENCY_UNAVAILABLE"]},
    "message": {"type": "string"}, "retryable": {"type": "boolean"}, "retry_after_ms": {"type": "integer"},
    "details": {"type": "object", "description": "Only with IDEMPOTENCY_KEY_REUSED", "properties": {
      "expected_request_hash": {"type": "string", "description": "SHA-256 of the first body"},
      "provided_request_hash": {"type": "string", "description": "SHA-256 of this body"}}}}},
  "Problem": {"type": "object", "description": "RFC 9457", "required": ["type", "title", "status", "detail", "error"],
    "properties": {
      "error": {"$ref": "#/components/schemas/ErrorObject"},
      "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
      "detail": {"type": "string"},
      "errors": {"type": "array", "items": {"type": "object", "required": ["location", "message"], "properties": {
        "location": {"type": "string"}, "message": {"type": "string"}, "value": {}}}}}}
})json";

// The schema of a request that refuses unknown fields.
json closed(std::span<const schemas::Field> table, json example) {
  json out = schemas::json_schema(table);
  out["additionalProperties"] = false;
  out["examples"] = json::array({std::move(example)});
  return out;
}

}  // namespace

json openapi_machine_schemas() {
  json shapes = json::parse(kMachineSchemas);
  shapes["ExecutionRequest"] =
      closed(schemas::execution_request_fields(),
             {{"command", {"sh", "-c", "echo $GREETING"}}, {"env", {{"GREETING", "hello"}}}});
  shapes["MachineChange"] = closed(schemas::machine_change_fields(),
                                   {{"name", "build"}, {"memory_mib", 2048}, {"autosleep", "15m"}});
  shapes["Reboot"] = closed(schemas::reboot_fields(), {{"force", true}});
  shapes["SshRequest"] = closed(schemas::ssh_request_fields(),
                                {{"public_key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI… me@laptop"}});
  return shapes;
}

}  // namespace millrace::api
