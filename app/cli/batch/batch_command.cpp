#include "app/cli/batch/batch_command.h"

#include <filesystem>
#include <iostream>

#include "app/cli/batch/batch.h"
#include "app/cli/batch/batch_inputs.h"
#include "app/cli/batch/batch_text.h"
#include "app/cli/cut_off.h"
#include "app/cli/interrupt.h"
#include "app/cli/json_cells.h"
#include "app/cli/program.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::milliseconds kLookEvery{200};
constexpr std::chrono::seconds kSecondCtrlC{2};

// The state of one run.
struct Run {
  Batch& batch;
  Interrupt& interrupt;
  Progress& progress;
  const BatchArguments& request;
  const BatchWork& work;
  const ClientOptions& options;
  bool inputs_skipped;
};

// The command line that resumes this run: the same options select the same inputs.
std::string again(const Run& run) {
  std::string command = program() + " " + run.work.command();
  for (const std::string& input : run.request.inputs) command += " " + shell_word(input);
  command += run.work.options();
  if (run.request.in_flight != BatchArguments().in_flight)
    command += " --in-flight " + std::to_string(run.request.in_flight);
  const JobStartFlags& start = run.request.start;
  if (start.is_set())
    command += (start.delay.empty() ? " --run-at " : " --delay ") + shell_word(start.value());
  return command + client_options(run.options) + " -o " + shell_word(run.request.output_folder);
}

void print_how_to_resume(const Run& run) {
  if (!run.request.output_folder.empty())
    return run.progress.line("To continue, run the same command again: " + again(run));
  run.progress.line("Without an output folder it cannot be resumed.");
  for (const std::string& job : run.batch.jobs())
    run.progress.line("Its job: " + program() + " jobs show " + job + gateway_options(run.options));
}

void cancel(const Run& run) {
  Batch& batch = run.batch;
  Progress& progress = run.progress;
  progress.line("Cancelling …");
  if (const auto error = batch.cancel_all()) {
    progress.line(counted(batch.in_progress(), run.work.nouns().documents) +
                  (batch.in_progress() == 1 ? " was" : " were") + " not cancelled: " + error->message);
  } else {
    progress.line("Cancelled.");
  }
  if (!batch.interrupted_submission().empty())
    progress.line(batch.interrupted_submission() + " may or may not have been submitted: `" + program() +
                  " jobs ls" + gateway_options(run.options) + "` lists it if the gateway accepted it.");
}

// The terminal or the output was closed: the jobs go on.
int cut_off(const Run& run, const CutOff& why) {
  const Batch& batch = run.batch;
  run.progress.settle();
  const int left = batch.not_submitted();
  const std::string not_submitted = left == 0 ? ""
                                              : ", " + counted(left, run.work.nouns().documents) +
                                                    (left == 1 ? " was" : " were") + " not submitted";
  fail_cut_off(why, (batch.in_progress() == 0 ? "no job goes on"
                                              : goes_on_text(batch.jobs(), gateway_options(run.options))) +
                        not_submitted);
  if (!run.request.output_folder.empty()) print_how_to_resume(run);
  return why.exit_code;
}

// Detaches: the jobs go on, unless a second Ctrl-C cancels them.
int interrupted(const Run& run) {
  const Batch& batch = run.batch;
  if (const auto why = cut_off_by(run.interrupt)) return cut_off(run, *why);
  run.progress.line(
      detached_text(batch.totals(), batch.in_progress(), batch.not_submitted(), run.request.output_folder));
  print_how_to_resume(run);
  if (run.interrupt.wait(kSecondCtrlC)) cancel(run);
  return kInterrupted;
}

// Ends the command after an error. Submitted jobs go on, as after a Ctrl-C.
int broken_off(const Run& run, ClientError fault) {
  run.progress.settle();
  fault.message = one_line(fault.message);
  print_error(fault);
  const std::string done = so_far_text(run.batch.totals(), run.request.output_folder);
  if (!done.empty()) run.progress.line(done);
  if (run.batch.has_begun()) print_how_to_resume(run);
  return fault.exit_code;
}

void print_all_ended(const Run& run) {
  const Totals totals = run.batch.totals();
  run.progress.settle();
  if (!run.progress.on_terminal() && totals.documents > 1) run.progress.line(totals_line(totals));
  const std::string results = results_text(totals, run.request.output_folder);
  if (!results.empty()) run.progress.line(results);
}

int follow(const Run& run) {
  Batch& batch = run.batch;
  if (batch.done()) return run.inputs_skipped ? kFailed : kOk;  // everything was done by earlier runs
  while (batch.step() && !batch.done()) {
    batch.show();
    if (run.interrupt.wait(kLookEvery)) return interrupted(run);
  }
  if (batch.interrupted()) return interrupted(run);
  if (batch.cut_off() && !batch.done()) return cut_off(run, *batch.cut_off());
  batch.show();
  if (batch.fault()) return broken_off(run, *batch.fault());
  print_all_ended(run);
  if (batch.cut_off()) return fail_cut_off(*batch.cut_off(), "no job goes on");
  return batch.failed() == 0 && !run.inputs_skipped ? kOk : kFailed;
}

// Removes terminal control characters, because the message may contain file names.
int misused_batch(const std::string& message) { return fail_usage(one_line(message)); }

}  // namespace

int run_batch(const BatchArguments& request, const BatchWork& work, const ClientOptions& options) {
  Interrupt interrupt(kCutOff);  // before any thread starts, so that every thread inherits the signal mask
  auto inputs = collect_inputs(request.inputs, request.output_folder, work.kinds());
  if (!inputs) return misused_batch(inputs.error().message);

  std::optional<ResumeFile> resume;
  base::Fd lock;
  if (!request.output_folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(request.output_folder, failed);
    if (failed) return misused_batch("cannot make " + request.output_folder + ": " + failed.message());
    auto held = lock_outputs(request.output_folder, work.command());
    if (!held) return misused_batch(held.error().message);
    lock = *std::move(held);
    auto opened = ResumeFile::open(request.output_folder, work.command());
    if (!opened) return misused_batch(opened.error().message);
    resume = *std::move(opened);
    name_outputs(inputs->documents, request.output_folder, work.kinds().output_ending, *resume);
  }
  Client client(options, &interrupt);
  Progress progress(options.quiet, options.no_color);
  if (!inputs->left_out.empty()) progress.line(left_out_text(inputs->left_out, work.kinds().shown));
  for (const std::string& folder : inputs->skipped) progress.failure("✗ " + folder + " (skipped)");
  const bool inputs_skipped = !inputs->skipped.empty() || inputs->misses_inputs;
  Batch batch(request, work, std::move(inputs->documents), client, resume ? &*resume : nullptr, progress);
  return follow({batch, interrupt, progress, request, work, options, inputs_skipped});
}

}  // namespace millrace::cli
