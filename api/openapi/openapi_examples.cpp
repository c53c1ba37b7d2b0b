#include <array>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/openapi/openapi.h"

namespace millrace::api {
namespace {

using nlohmann::json;

// By schema name. The examples of lists are built below from the examples of their items.
constexpr std::string_view kExamples = R"json({
  "Root": {"name": "millrace", "version": "0.1.0", "docs": "/docs", "openapi": "/openapi.json", "health": "/readyz"},
  "Version": {"name": "millrace", "version": "0.1.0"},
  "Readiness": {"status": "unavailable", "store": {"status": "ok"}, "dispatch": {"status": "ok"},
    "disk": {"status": "full", "detail": "less than store.disk_free_min is free",
      "means": "Free space on the disk of the data directory.",
      "what_to_do": "New jobs are rejected until there is space: free some, or lower store.disk_free_min."}},
  "Object": {"openapi": "3.1.0", "info": {"title": "Millrace", "version": "0.1.0"}, "paths": {}},
  "Text": "The mill turns by day and by night.",
  "Error": {"error": {"message": "There is no such job", "type": "invalid_request_error", "param": null, "code": "not_found"}},
  "ValidationError": {
    "error": {"message": "limit: Input should be greater than or equal to 1", "type": "invalid_request_error",
      "param": "limit", "code": "invalid_field"},
    "detail": [{"loc": ["query", "limit"], "msg": "Input should be greater than or equal to 1",
      "type": "greater_than_equal", "input": 0, "ctx": {"ge": 1}}]},
  "Problem": {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "There is no such machine",
    "error": {"message": "There is no such machine", "type": "invalid_request_error", "param": null, "code": "not_found"}},
  "MachineError": {"error_code": "AUTH_INVALID", "message": "The API key is unknown, revoked or expired", "retryable": false,
    "error": {"message": "The API key is unknown, revoked or expired", "type": "invalid_request_error", "param": null, "code": "invalid_api_key"}},
  "Job": {"id": "ocr-0192f0a1-7c1e-7000-8000-000000000001", "kind": "ocr", "name": "invoice.pdf", "status": "succeeded",
    "created_at": "2026-05-04T08:30:00.000Z", "started_at": "2026-05-04T08:30:00.004Z",
    "completed_at": "2026-05-04T08:30:00.650Z", "expires_at": "2026-05-05T08:30:00.650Z", "attempt": 1,
    "progress": {"done": 1, "total": 1}, "model": "millrace/ocr",
    "links": {"self": "/v1/jobs/ocr-0192f0a1-7c1e-7000-8000-000000000001",
      "result": "/v1/jobs/ocr-0192f0a1-7c1e-7000-8000-000000000001/result",
      "events": "/v1/jobs/ocr-0192f0a1-7c1e-7000-8000-000000000001/events",
      "cancel": "/v1/jobs/ocr-0192f0a1-7c1e-7000-8000-000000000001/cancel",
      "retry": "/v1/jobs/ocr-0192f0a1-7c1e-7000-8000-000000000001/retry"}},
  "JobRequest": {"job_id": "chat-0192f0a1-7c1e-7000-8000-000000000005", "kind": "chat", "method": "POST",
    "path": "/v1/chat/completions", "content_type": "application/json",
    "body": {"deferred": true, "model": "mock/chat", "messages": [{"role": "user", "content": "Why is the sky blue?"}]},
    "left_out": []},
  "JobEvent": {"version": 4, "at": "2026-05-04T08:30:00.640Z", "type": "page", "data": {"index": 0}},
  "Model": {"id": "mock/chat", "object": "model", "created": 1735689600, "created_at": "2025-01-01T00:00:00.000Z",
    "owned_by": "mock", "provider": "mock", "display_name": "chat", "type": "base",
    "capabilities": {"chat": true, "embeddings": false, "images": false, "audio": false, "ocr": false,
      "transcription": false, "speech": false}},
  "NewWebhook": {"url": "https://app.example/hooks", "events": ["job.succeeded", "job.failed"], "kinds": ["ocr"]},
  "WebhookChange": {"status": "enabled"},
  "DeletedWebhook": {"id": "we-0192f0a1-7c1e-7000-8000-000000000006", "object": "webhook", "deleted": true},
  "WebhookList": {"items": [{"id": "we-0192f0a1-7c1e-7000-8000-000000000006", "object": "webhook", "url": "https://app.example/hooks",
    "events": ["job.*"], "kinds": [], "on_request": false, "status": "enabled", "public_key": "whpk_A4WInZQnZwXCBTpAKsWgoKqxlHXHVIL1yXEckPJMHJg=",
    "pending": 0, "created_at": "2026-05-04T08:30:00.000Z"}]},
  "WebhookDeliveryList": {"items": [{"id": "msg_0192f0a1-7c1e-7000-8000-000000000007",
    "webhook": "we-0192f0a1-7c1e-7000-8000-000000000006", "event": "job.succeeded",
    "subject": "ocr-0192f0a1-7c1e-7000-8000-000000000001", "state": "pending", "attempts": 1,
    "created_at": "2026-05-04T08:30:00.000Z", "attempted_at": "2026-05-04T08:30:00.000Z",
    "next_at": "2026-05-04T08:30:05.000Z", "http_status": 503, "error": "the receiver answered 503"}]},
  "FileForm": {"file": "invoice.pdf", "purpose": "ocr"},
  "DeletedFile": {"id": "file-0192f0a1-7c1e-7000-8000-000000000006", "object": "file", "deleted": true},
  "FileUrl": {"url": "https://gateway.example.com/v1/files/signed/0192f0a1-7c1e-7000-8000-000000000006?expires=1778000000&sig=5f"},
  "BatchRequest": {"input_file_id": "file-0192f0a1-7c1e-7000-8000-000000000006", "endpoint": "/v1/chat/completions",
    "completion_window": "24h"},
  "BatchJobRequest": {"endpoint": "/v1/chat/completions", "model": "mock/chat",
    "requests": [{"custom_id": "one", "body": {"messages": [{"role": "user", "content": "Why is the sky blue?"}]}}]},
  "BatchList": {"object": "list", "data": [{"id": "batch_0192f0a1-7c1e-7000-8000-000000000008", "object": "batch", "endpoint": "/v1/chat/completions", "model": null,
    "errors": null, "input_file_id": "file-0192f0a1-7c1e-7000-8000-000000000006", "completion_window": "24h", "status": "in_progress",
    "output_file_id": null, "error_file_id": null, "created_at": 1777883400, "in_progress_at": 1777883401, "expires_at": 1777969800,
    "finalizing_at": null, "completed_at": null, "failed_at": null, "expired_at": null, "cancelling_at": null, "cancelled_at": null,
    "request_counts": {"total": 100, "completed": 0, "failed": 0}, "metadata": null, "cost_usd": 0.0}],
    "first_id": "batch_0192f0a1-7c1e-7000-8000-000000000008", "last_id": "batch_0192f0a1-7c1e-7000-8000-000000000008", "has_more": false},
  "BatchJobList": {"object": "list", "data": [{"id": "batch_0192f0a1-7c1e-7000-8000-000000000008", "object": "batch",
    "input_files": ["file-0192f0a1-7c1e-7000-8000-000000000006"], "metadata": {}, "endpoint": "/v1/chat/completions",
    "model": "mock/chat", "output_file": null, "error_file": null, "errors": [], "status": "RUNNING", "created_at": 1777883400,
    "total_requests": 100, "completed_requests": 0, "succeeded_requests": 0, "failed_requests": 0, "started_at": 1777883401,
    "completed_at": null, "cost_usd": 0.0}], "total": 1},
  "UploadRequest": {"purpose": "batch", "filename": "requests.jsonl", "bytes": 314572800, "mime_type": "application/jsonl"},
  "UploadPartForm": {"data": "invoice.pdf"},
  "UploadPart": {"id": "part_0192f0a1-7c1e-7000-8000-000000000008", "object": "upload.part", "created_at": 1777883410,
    "upload_id": "upload_0192f0a1-7c1e-7000-8000-000000000007"},
  "UploadCompletion": {"part_ids": ["part_0192f0a1-7c1e-7000-8000-000000000008"], "md5": "5d41402abc4b2a76b9719d911017c592"},
  "MultipartUpload": {"id": "upload_0192f0a1-7c1e-7000-8000-000000000007", "object": "upload", "bytes": 314572800,
    "created_at": 1777883400, "expires_at": 1777887000, "filename": "requests.jsonl", "purpose": "batch", "status": "pending",
    "file": null},
  "FileList": {"object": "list", "data": [{"id": "file-0192f0a1-7c1e-7000-8000-000000000006", "object": "file", "bytes": 48211,
    "created_at": 1777883400, "expires_at": null, "filename": "invoice.pdf", "purpose": "ocr", "status": "processed",
    "source": "upload", "sample_type": "ocr_input", "mimetype": "application/pdf",
    "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "deleted": false}],
    "has_more": false, "first_id": "file-0192f0a1-7c1e-7000-8000-000000000006",
    "last_id": "file-0192f0a1-7c1e-7000-8000-000000000006", "total": 1},
  "OcrForm": {"file": "invoice.pdf", "model": "millrace/ocr"},
  "TranscriptionForm": {"file": "talk.mp3", "model": "millrace/sphinx-en", "response_format": "json"},
  "TranslationForm": {"file": "talk.mp3", "model": "whisper-1", "response_format": "json"},
  "Machine": {"machine_id": "dm-0192f0a1-7c1e-7000-8000-000000000001", "name": "local", "driver": "sandbox", "vcpu": 1,
    "memory_mib": 1024, "storage_gib": 4, "autosleep_seconds": 0, "desired_state": "running", "phase": "running",
    "created_at": "2026-05-04T08:00:00.000Z"},
  "Execution": {"execution_id": "exec-0192f0a1-7c1e-7000-8000-000000000002",
    "machine_id": "dm-0192f0a1-7c1e-7000-8000-000000000001", "status": "succeeded",
    "command": ["sh", "-c", "echo $GREETING"], "created_at": "2026-05-04T08:30:00.000Z",
    "started_at": "2026-05-04T08:30:00.040Z", "completed_at": "2026-05-04T08:30:00.079Z", "artifacts": [],
    "expires_at": "2026-05-11T08:30:00.079Z", "exit_code": 0, "stdout_bytes": 6, "stdout_truncated": false,
    "stderr_bytes": 0, "stderr_truncated": false, "log_capture": {}},
  "ExecutionEvent": {"sequence": 4, "at": "2026-05-04T08:30:00.054Z", "type": "stdout", "chunk": "hello\n"},
  "ExecutionOutput": {"execution_id": "exec-0192f0a1-7c1e-7000-8000-000000000002", "stdout": "hello\n", "stderr": "",
    "stdout_bytes": 6, "stderr_bytes": 0, "stdout_truncated": false, "stderr_truncated": false},
  "Artifact": {"artifact_id": "art-0192f0a1-7c1e-7000-8000-000000000003",
    "machine_id": "dm-0192f0a1-7c1e-7000-8000-000000000001", "execution_id": "exec-0192f0a1-7c1e-7000-8000-000000000002",
    "name": "numbers.txt", "size_bytes": 6, "mime_type": "text/plain",
    "sha256": "14c5e74c4b96ccef41cd94db73a9ec3348038ac094feca4fd897cecffa07cdae",
    "created_at": "2026-05-04T08:30:00.078Z", "expires_at": "2026-05-11T08:30:00.079Z",
    "download_url": "/v1/machines/dm-0192f0a1-7c1e-7000-8000-000000000001/artifacts/art-0192f0a1-7c1e-7000-8000-000000000003/content"},
  "SshSession": {"session_id": "ssh-0192f0a1-7c1e-7000-8000-000000000004",
    "machine_id": "dm-0192f0a1-7c1e-7000-8000-000000000001", "status": "closed",
    "created_at": "2026-05-04T08:30:00.000Z", "expires_at": "2026-05-04T08:45:00.000Z"},
  "Usage": {"tenant": "default", "period": "day", "cost_usd": 1.25, "reserved_usd": 0.5, "requests": 5230, "tokens": 412000, "audio_seconds": 95.5,
    "running_jobs": 12, "stored_jobs": 340, "stored_bytes": 73400320, "pages": 1250, "machines": 1, "vcpu": 1.0, "memory_mib": 1024,
    "storage_gib": 4, "ssh_sessions": 0,
    "limits": {"running_jobs": 1000, "machines": 4, "stored_bytes": "unlimited"},
    "budget": {"usd": 20.0, "period": "month", "soft_usd": 15.0}, "budget_used_usd": 11.75,
    "key": {"id": "45edQuQM", "cost_usd": 1.25, "reserved_usd": 0.5, "requests": 5230, "tokens": 412000, "audio_seconds": 95.5,
    "running_jobs": 12, "stored_jobs": 340, "stored_bytes": 73400320, "pages": 1250, "machines": 1, "vcpu": 1.0, "memory_mib": 1024,
    "storage_gib": 4, "ssh_sessions": 0, "limits": {}, "budget": null}},
  "Tenant": {"name": "acme", "limits": {"running_jobs": 1000, "machines": 4, "stored_bytes": "unlimited"},
    "effective_limits": {"running_jobs": 1000, "machines": 4, "stored_bytes": "unlimited"}, "budget": null,
    "usage": {"cost_usd": 1.25, "reserved_usd": 0.5, "requests": 5230, "tokens": 412000, "audio_seconds": 95.5,
    "running_jobs": 12, "stored_jobs": 340, "stored_bytes": 73400320, "pages": 1250, "machines": 1, "vcpu": 1.0, "memory_mib": 1024,
    "storage_gib": 4, "ssh_sessions": 0}},
  "ApiKey": {"id": "45edQuQM", "name": "batch", "tenant": "default", "scopes": ["ocr", "jobs:read", "jobs:write"],
    "created_at": "2026-05-04T08:00:00.000Z", "expires_at": "2026-08-02T08:00:00.000Z"},
  "ApiKeyRotation": {"overlap_seconds": 3600},
  "AdminQueue": {"kind": "ocr", "queued": 12, "running": 2, "waiting": 1, "oldest_queued_seconds": 3.5, "slots": 2,
    "used": 2, "paused": false},
  "AdminWorker": {"name": "mill-1", "host": "mill", "version": "0.1.0", "live": true, "draining": false,
    "seen_at": "2026-05-04T08:30:00.000Z", "heartbeat_age_seconds": 0.74,
    "slots": [{"kind": "ocr", "slots": 2, "used": 1}], "leases_held": 1,
    "leases": [{"job": "ocr-0192f0a1-7c1e-7000-8000-000000000005", "kind": "ocr", "tenant": "default", "attempt": 1,
      "since": "2026-05-04T08:29:58.000Z", "over": false, "expires_in_seconds": 19.26,
      "expires_at": "2026-05-04T08:30:19.260Z"}]},
  "AdminHost": {"name": "mill", "live": true, "maintains": true, "machines": 2, "processes": [
    {"process_id": "0192f0a1-7c1e-7000-8000-000000000009", "version": "0.1.0", "roles": ["api", "models", "machines"],
      "live": true, "started_at": "2026-05-04T08:00:00.000Z", "seen_at": "2026-05-04T08:30:00.000Z",
      "report_age_seconds": 0.74}]},
  "AdminProviderList": {"items": [{"model": "mock/chat", "provider": "mock", "upstream_model": "chat",
    "circuit": "closed", "failures_in_a_row": 0, "running": 0, "waiting": 0, "latency_seconds": 0.8}],
    "mcp_servers": [{"slug": "office"}]}
})json";

constexpr std::string_view kOverview =
    R"json({"at": "2026-05-04T08:30:00.000Z", "kinds": [{"kind": "ocr", "queued": 12,
  "running": 2, "waiting": 1, "oldest_queued_seconds": 3.5,
  "minute": {"succeeded": 1, "failed": 0, "commands_failed": 0, "cancelled": 0, "expired": 0},
  "hour": {"succeeded": 60, "failed": 1, "commands_failed": 0, "cancelled": 0, "expired": 0},
  "day": {"succeeded": 700, "failed": 4, "commands_failed": 3, "cancelled": 2, "expired": 0},
  "wait_seconds": {"p50": 0.04, "p95": 2.1}, "run_seconds": {"p50": 0.65, "p95": 4.8}}],
  "store": {"db_bytes": 4096000, "wal_bytes": 65536, "disk_free_bytes": 51539607552, "queue_depth": 0},
  "health": {"store": {"ok": true, "means": "The database that stores all jobs."},
    "dispatch": {"ok": true, "means": "How idle workers are notified of new jobs: inside this process, or through Kafka."},
    "disk": {"ok": true, "means": "Free space on the disk of the data directory."}}})json";
constexpr std::size_t kMinutesOfAnHour = 60;

json overview_example() {
  json out = json::parse(kOverview);
  out["kinds"][0]["succeeded_by_minute"] = json::array_t(kMinutesOfAnHour, 1);
  out["kinds"][0]["failed_by_minute"] = json::array_t(kMinutesOfAnHour, 0);
  return out;
}

json dead_example(json job) {
  job["status"] = "failed";
  job["error"] = {{"code", "document_damaged"}, {"message", "The document cannot be opened"}};
  json row = {{"kind", "ocr"},
              {"code", "document_damaged"},
              {"type", "invalid_request_error"},
              {"jobs", 3},
              {"newest", std::move(job)}};
  return {{"items", json::array({std::move(row)})}};
}

struct ListOf {
  std::string_view list, items, key = "items";
};
constexpr std::array kLists{ListOf{"JobList", "Job"},
                            ListOf{"JobEventList", "JobEvent"},
                            ListOf{"MachineList", "Machine"},
                            ListOf{"ExecutionList", "Execution"},
                            ListOf{"ExecutionEventList", "ExecutionEvent"},
                            ListOf{"ArtifactList", "Artifact"},
                            ListOf{"SshSessionList", "SshSession"},
                            ListOf{"ApiKeyList", "ApiKey"},
                            ListOf{"AdminQueueList", "AdminQueue"},
                            ListOf{"TenantList", "Tenant"},
                            ListOf{"AdminWorkerList", "AdminWorker"},
                            ListOf{"AdminHostList", "AdminHost"},
                            ListOf{"ModelList", "Model", "data"}};

}  // namespace

void openapi_add_examples(json& schemas) {
  json examples = json::parse(kExamples);
  examples["AdminOverview"] = overview_example();
  examples["AdminDeadList"] = dead_example(examples["Job"]);
  for (const ListOf& each : kLists) {
    json& list = examples[std::string(each.list)];
    list[std::string(each.key)] = json::array({examples[std::string(each.items)]});
    if (each.key == "data") list["object"] = "list";
  }
  for (const auto& [name, example] : examples.items()) schemas[name]["examples"] = json::array({example});
}

}  // namespace millrace::api
