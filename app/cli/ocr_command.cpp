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

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) c == '\'' ? static_cast<void>(out += "'\\''") : out.push_back(c);
  return out + "'";
}

// The same command: with the same options the inputs are the same ones.
std::string again(const OcrRequest& request) {
  std::string command = "millrace ocr";
  for (const std::string& input : request.inputs) command += " " + quoted(input);
  if (!request.pages.empty()) command += " --pages " + quoted(request.pages);
  if (!request.model.empty()) command += " --model " + quoted(request.model);
  if (request.images) command += " --images";
  return command + " -o " + quoted(request.output_folder);
}

std::string how_to_go_on(const OcrBatch& batch, const OcrRequest& request) {
  if (!request.output_folder.empty()) return "To go on, run it again: " + again(request);
  std::string text = "Without an output folder it cannot be resumed.";
  for (const std::string& job : batch.jobs()) text += "\nIts job: millrace jobs show " + job;
  return text;
}

void cancel(OcrBatch& batch, Progress& progress) {
  progress.line("Cancelling …");
  if (const auto error = batch.cancel_all()) {
    progress.line(std::to_string(batch.under_way()) + " documents were not cancelled: " + error->message);
  } else {
    progress.line("Cancelled.");
  }
  if (!batch.cut_short().empty())
    progress.line(batch.cut_short() + " was on its way: `millrace jobs ls` shows it if the gateway has it.");
}

// Detached: the jobs go on, unless a second Ctrl-C says otherwise.
int interrupted(OcrBatch& batch, Interrupt& interrupt, const OcrRequest& request, Progress& progress) {
  const std::string waiting = std::to_string(batch.not_handed_in());
  progress.line("Detached: " + std::to_string(batch.under_way()) + " documents go on in the gateway" +
                (batch.not_handed_in() == 0 ? "" : ", " + waiting + " were not handed in") +
                ". Ctrl-C again within 2 s cancels them.");
  progress.line(how_to_go_on(batch, request));
  if (interrupt.wait(kSecondCtrlC)) cancel(batch, progress);
  return kInterrupted;
}

int follow(OcrBatch& batch, Interrupt& interrupt, const OcrRequest& request, Progress& progress) {
  while (batch.step() && !batch.done()) {
    batch.show();
    if (interrupt.wait(kLookEvery)) return interrupted(batch, interrupt, request, progress);
  }
  if (batch.interrupted()) return interrupted(batch, interrupt, request, progress);
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
  Client client(options, &interrupt);
  Progress progress(options.quiet, options.no_color);
  OcrBatch batch(request, *std::move(inputs), client, resume ? &*resume : nullptr, progress);
  return follow(batch, interrupt, request, progress);
}

}  // namespace millrace::cli
