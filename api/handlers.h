#pragma once
#include <span>

#include "api/context.h"
#include "api/routing/route.h"

// The handlers of the route table, by resource. They parse the request, call the core and send the response.
// Lanes and limits: routes.cpp.
namespace millrace::api {

// service_handlers.cpp
void root(Context&, CallPtr);
void livez(Context&, CallPtr);
void health(Context&, CallPtr);
void readyz(Context&, CallPtr);
void version(Context&, CallPtr);
void metrics(Context&, CallPtr);
void openapi(Context&, CallPtr);

// dashboard_files.cpp
void dashboard_file(Context&, CallPtr);
void docs_page(Context&, CallPtr);

// model_handlers.cpp
void list_models(Context&, CallPtr);
void get_model(Context&, CallPtr);

// chat_handlers.cpp
void create_chat(Context&, CallPtr);
void deferred_chat(Context&, CallPtr);

// media_responder.cpp
void create_embeddings(Context&, CallPtr);
void create_images(Context&, CallPtr);
void image_file(Context&, CallPtr);

// speech_handlers.cpp
void create_speech(Context&, CallPtr);

// audio_handlers.cpp
void create_transcription(Context&, CallPtr);
void create_translation(Context&, CallPtr);

// ocr_handlers.cpp
void create_ocr(Context&, CallPtr);

// batch_handlers.cpp
void create_batch(Context&, CallPtr);
void list_batches(Context&, CallPtr);
void get_batch(Context&, CallPtr);
void cancel_batch(Context&, CallPtr);
void create_mistral_batch(Context&, CallPtr);
void list_mistral_batches(Context&, CallPtr);
void get_mistral_batch(Context&, CallPtr);
void cancel_mistral_batch(Context&, CallPtr);
std::span<const schemas::Field> batch_list_fields();
std::span<const schemas::Field> mistral_batch_list_fields();

// machine_handlers.cpp
void list_machines(Context&, CallPtr);
void create_machine(Context&, CallPtr);
void get_machine(Context&, CallPtr);
void change_machine(Context&, CallPtr);
void sleep_machine(Context&, CallPtr);
void wake_machine(Context&, CallPtr);
void reboot_machine(Context&, CallPtr);
void delete_machine(Context&, CallPtr);
std::span<const schemas::Field> machine_list_fields();

// ssh_handlers.cpp
void create_ssh_session(Context&, CallPtr);
void list_ssh_sessions(Context&, CallPtr);
void get_ssh_session(Context&, CallPtr);
void close_ssh_session(Context&, CallPtr);
std::span<const schemas::Field> ssh_list_fields();

// artifact_handlers.cpp
void list_artifacts(Context&, CallPtr);
void get_artifact(Context&, CallPtr);
void delete_artifact(Context&, CallPtr);
void artifact_content(Context&, CallPtr);
std::span<const schemas::Field> artifact_list_fields();

// stored_file_handlers.cpp
void upload_stored_file(Context&, CallPtr);
void list_stored_files(Context&, CallPtr);
void get_stored_file(Context&, CallPtr);
void delete_stored_file(Context&, CallPtr);
void stored_file_content(Context&, CallPtr);
void stored_file_url(Context&, CallPtr);
void signed_file_content(Context&, CallPtr);
std::span<const schemas::Field> stored_file_list_fields();
std::span<const schemas::Field> stored_file_url_fields();

// multipart_upload_handlers.cpp
void begin_upload(Context&, CallPtr);
void add_upload_part(Context&, CallPtr);
void complete_upload(Context&, CallPtr);
void cancel_upload(Context&, CallPtr);

// webhook_handlers.cpp
void create_webhook(Context&, CallPtr);
void list_webhooks(Context&, CallPtr);
void get_webhook(Context&, CallPtr);
void change_webhook(Context&, CallPtr);
void delete_webhook(Context&, CallPtr);
void test_webhook(Context&, CallPtr);
void rotate_webhook(Context&, CallPtr);
void list_webhook_deliveries(Context&, CallPtr);
void get_webhook_delivery(Context&, CallPtr);
void redeliver_webhook(Context&, CallPtr);
std::span<const schemas::Field> webhook_list_fields();

// file_handlers.cpp
void put_file(Context&, CallPtr);
void get_file(Context&, CallPtr);
void delete_file(Context&, CallPtr);

// execution_handlers.cpp
void create_execution(Context&, CallPtr);
void list_executions(Context&, CallPtr);
void get_execution(Context&, CallPtr);
void delete_execution(Context&, CallPtr);
std::span<const schemas::Field> execution_list_fields();

// execution.cpp
void execution_output(Context&, CallPtr);
void execution_events(Context&, CallPtr);

// job_list.cpp
void list_jobs(Context&, CallPtr);
void delete_job(Context&, CallPtr);
void list_all_jobs(Context&, CallPtr);
std::span<const schemas::Field> job_list_fields();
std::span<const schemas::Field> all_job_list_fields();

// live_overview.cpp
void admin_overview(Context&, CallPtr);
// admin_jobs.cpp
void admin_dead(Context&, CallPtr);
// admin_stream.cpp
void admin_events(Context&, CallPtr);
// admin_queues.cpp
void admin_queues(Context&, CallPtr);
void admin_pause_queue(Context&, CallPtr);
void admin_resume_queue(Context&, CallPtr);
void admin_workers(Context&, CallPtr);
void admin_hosts(Context&, CallPtr);
void admin_drain_worker(Context&, CallPtr);
// admin_providers.cpp
void admin_providers(Context&, CallPtr);

// admin_keys.cpp
void admin_list_keys(Context&, CallPtr);
void admin_create_key(Context&, CallPtr);
void admin_change_key(Context&, CallPtr);
void admin_revoke_key(Context&, CallPtr);
void admin_rotate_key(Context&, CallPtr);

// tenant_handlers.cpp
void admin_list_tenants(Context&, CallPtr);
void admin_get_tenant(Context&, CallPtr);
void admin_set_tenant(Context&, CallPtr);
void get_usage(Context&, CallPtr);
std::span<const schemas::Field> usage_fields();

// admin_jobs.cpp
void admin_cancel_jobs(Context&, CallPtr);
void admin_retry_jobs(Context&, CallPtr);
void admin_delete_jobs(Context&, CallPtr);

// job_handlers.cpp
void get_job(Context&, CallPtr);
void cancel_job(Context&, CallPtr);
void retry_job(Context&, CallPtr);
void job_result(Context&, CallPtr);
std::span<const schemas::Field> job_result_fields();

// original_request_handlers.cpp
void job_original_request(Context&, CallPtr);

// picture_handlers.cpp
void page_picture(Context&, CallPtr);

// event_stream.cpp
void job_events(Context&, CallPtr);
std::span<const schemas::Field> job_event_fields();

}  // namespace millrace::api
