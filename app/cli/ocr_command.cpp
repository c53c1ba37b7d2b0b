#include "app/cli/ocr_command.h"

#include <filesystem>
#include <iostream>

#include "app/cli/interrupt.h"
#include "app/cli/ocr_batch.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::milliseconds kLookEvery{200};
constexpr std::chrono::seconds kSecondCtrlC{2};

int usage_error(const std::string& message) {
  std::cerr << "millrace: " << message << '\n';
  return kUsage;
}

// Detached: the jobs go on, unless a second Ctrl-C says otherwise.
int interrupted(OcrBatch& batch, Interrupt& interrupt, const OcrRequest& request, Progress& progress) {
  progress.line("Detached: " + std::to_string(batch.under_way()) +
                " documents go on in the gateway. Ctrl-C again within 2 s cancels them.");
  if (interrupt.wait(kSecondCtrlC)) {
    batch.cancel_all();
    progress.line("Cancelled.");
    return kInterrupted;
  }
  if (!request.output_folder.empty()) {
    std::string command = "millrace ocr";
    for (const std::string& input : request.inputs) command += " '" + input + "'";
    progress.line("To go on, run it again: " + command + " -o '" + request.output_folder + "'");
  }
  return kInterrupted;
}

int follow(OcrBatch& batch, Interrupt& interrupt, const OcrRequest& request, Progress& progress) {
  while (batch.step() && !batch.done()) {
    batch.show();
    if (interrupt.wait(kLookEvery)) return interrupted(batch, interrupt, request, progress);
  }
  batch.show();
  if (batch.fault()) {
    print_error(*batch.fault());
    return batch.fault()->exit_code;
  }
  if (!progress.on_terminal() && batch.totals().documents > 1) progress.line(totals_line(batch.totals()));
  return batch.failed() == 0 ? kOk : kFailed;
}

}  // namespace

int run_ocr(const OcrRequest& request, ClientOptions options) {
  Interrupt interrupt;  // before any thread, so that each inherits the mask
  auto inputs = collect_inputs(request.inputs, request.output_folder);
  if (!inputs) return usage_error(inputs.error().message);
  if (request.output_folder.empty() && request.images)
    return usage_error("--images needs an output folder: -o DIR");

  std::optional<ResumeFile> resume;
  if (!request.output_folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(request.output_folder, failed);
    if (failed) return usage_error("cannot make " + request.output_folder + ": " + failed.message());
    auto opened = ResumeFile::open(request.output_folder);
    if (!opened) return usage_error(opened.error().message);
    resume = *std::move(opened);
  }
  Client client(options);
  Progress progress(options.quiet, options.no_color);
  OcrBatch batch(request, *std::move(inputs), client, resume ? &*resume : nullptr, progress);
  return follow(batch, interrupt, request, progress);
}

}  // namespace millrace::cli
