// Advice for a failed job, by error code.
const kAdvice = {
  document_encrypted: "Remove the encryption first, for example a password with: qpdf --decrypt --password=… in.pdf out.pdf",
  document_damaged: "The file cannot be opened. Try to repair it: qpdf in.pdf out.pdf",
  document_unsupported: "OCR accepts PDF, PNG, JPEG and WebP. Convert the file to one of these.",
  document_empty: "The file is empty. Check whether the upload was cut short.",
  document_bomb:
    "The document unpacks to far more than the limit. If it is yours, create it again with simpler content.",
  document_page_count: "The requested page does not exist in the document.",
  document_too_many_pages: "Split the document. The limit is 1,000 pages.",
  document_too_large: "Split the document. The limit is 50 MB.",
  image_too_large: "Scale the image down to less than 100 megapixels.",
  fetch_failed: "The server did not return the document. Retry later, or send the file as a data URI.",
  fetch_refused: "The gateway fetches only from https URLs with public addresses, and from hosts in fetch.allow-hosts.",
  poison_job:
    "The worker was lost several times while it ran this job. Read the worker's log before you retry the job.",
  worker_lost: "The worker was lost while it ran this job. A retry is likely to succeed.",
  stored_file_damaged:
    "A file in the gateway's store is damaged. The log names the file. The operator can restore it from a backup.",
  request_damaged:
    "The stored request is damaged, so the job was not run. Send the request again. The operator should check the disk.",
  result_damaged: "The stored result is damaged. Run the job again. The operator should check the disk.",
  job_expired:
    "The job was not started before its deadline. Check that workers for this kind are running and have free slots.",
  upstream_error: "The provider failed. See Models for its state, or configure fallbacks for the model.",
  upstream_timeout: "The provider did not respond in time. Retry, or use a faster model.",
  model_not_found: "No model with this name is configured. See Models.",
  rate_limit_exceeded: "The rate limit of the provider or of the key was reached. Wait, then retry.",
  command_failed: "The command exited with an error. Read its output.",
  out_of_memory: "The machine's memory was used up. Increase its memory_mib, or let the command use less.",
  out_of_disk: "The machine's disk is full, or a file became too large. Delete files in /workspace, or increase storage_gib.",
  process_limit: "The machine's limit of processes and threads was reached. Run fewer at once.",
  cpu_time_exceeded: "A process used up its processor time. Increase the timeout, or split the command.",
  execution_timed_out: "The command ran longer than its timeout_ms. Increase the timeout, or split the command.",
  execution_not_started:
    "The command was not started before its deadline. Check that the machine is awake and has free slots.",
  execution_runner_prepare_failed:
    "The command was not found, is not executable, or its working directory (cwd) does not exist.",
  machine_wake_failed: "The machine did not wake in time. See Machines for its last error.",
  machine_not_routable: "The machine was destroyed, or its driver cannot reach it.",
  batch_cancelled: "The batch was cancelled before this line was sent. Retry the failed lines to send it.",
  batch_expired: "The completion window ended before this line was sent. Retry the failed lines, or use a longer window.",
  job_deleted: "The job of this line was deleted before its reply was collected. Retry the failed lines.",
  reply_incomplete: "The reply was cut off, or it is larger than results.reply_max.",
  page_timeout: "This page took too long. The other pages are not affected.",
};

export function adviceFor(errorCode) {
  return kAdvice[errorCode] ?? "";
}
