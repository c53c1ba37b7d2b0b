// What to do about the error of a job, by its code.
const kAdvice = {
  document_encrypted: "Take the password off first, for example with: qpdf --decrypt --password=… in.pdf out.pdf",
  document_damaged: "The file does not open. Try to repair it: qpdf in.pdf out.pdf",
  document_unsupported: "OCR takes PDF, PNG, JPEG and WebP. Convert the file to one of these.",
  document_empty: "There is nothing in the file. Was the upload cut short?",
  document_bomb: "The document unpacks to far more than it should. If it is yours, make it anew with simpler content.",
  document_page_count: "The page that was asked for is not in the document.",
  document_too_many_pages: "Split it: at most 1,000 pages go into one document.",
  document_too_large: "Split it: a document has at most 50 MB.",
  image_too_large: "Scale it down to less than 100 megapixels.",
  fetch_failed: "The server of that address did not give the document. Retry later, or send the file itself as a data URI.",
  fetch_refused: "The gateway does not fetch from there: only https and public addresses, or what fetch.allow-hosts opens.",
  poison_job: "The job ended its worker several times. Look into the worker's log before you retry it.",
  worker_lost: "The worker went away while it ran this. A retry is likely to succeed.",
  stored_file_damaged: "A file of the gateway's store is damaged. The log names it; the operator restores it from a backup.",
  request_damaged: "The stored request is damaged, so it is not run. Send it again; the operator checks the disk.",
  result_damaged: "The stored result is damaged. Run the job again; the operator checks the disk.",
  job_expired: "It was not started before its deadline: are there workers for this kind, with free slots?",
  upstream_error: "The provider failed. See Models for its state, or give the model fallbacks in the configuration.",
  upstream_timeout: "The provider did not answer in time. Retry, or use a faster model.",
  model_not_found: "No model of that name is configured: see Models.",
  rate_limit_exceeded: "Wait a little: the provider or the key's limit was reached.",
  command_failed: "The command itself ended with an error: its output says why.",
  execution_timed_out: "It ran longer than its timeout_ms. Give it more, or do less at once.",
  execution_not_started: "It was not started before its deadline: is the machine awake, and has it free slots?",
  execution_runner_prepare_failed: "The command was not found, is not executable, or its folder (cwd) is missing.",
  machine_wake_failed: "The machine did not wake in time: see Machines for its last error.",
  machine_not_routable: "The machine was destroyed, or its driver cannot reach it.",
  page_timeout: "That page took too long. The others are not touched by it.",
};

export function adviceFor(errorCode) {
  return kAdvice[errorCode] ?? "";
}
