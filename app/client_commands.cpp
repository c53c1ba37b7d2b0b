#include "app/client_commands.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/cli/client.h"
#include "app/cli/jobs_command.h"
#include "app/cli/ocr_command.h"
#include "app/cli/queues_command.h"
#include "app/cli/transcribe_command.h"
#include "app/client_audio_commands.h"
#include "app/client_chat_commands.h"
#include "app/client_machine_commands.h"
#include "app/client_operator_commands.h"
#include "app/client_options.h"
#include "app/list_command.h"

namespace millrace::app {
namespace {

using cli::ClientOptions;

constexpr const char* kAgain =
    "Run again with the same -o folder, it does only what is missing, has changed or has failed. Ctrl-C "
    "leaves while the jobs go on; a second one within 2 s cancels them.";

void add_ocr(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("ocr", "Reads PDFs and images into markdown");
  auto request = std::make_shared<cli::OcrRequest>();
  command
      ->add_option("inputs", request->inputs,
                   "Files, folders with PDF, PNG, JPEG or WebP, or - for standard input")
      ->required();
  command
      ->add_option("-o,--output", request->output_folder,
                   "Folder for the markdown (default: standard output)")
      ->option_text("DIR");
  command->add_option("--pages", request->pages, "Zero-based pages, \"0-5,7\" (default: all)");
  command->add_option("--model", request->model, "OCR model (default: the local engine)");
  command->add_flag("--images", request->images, "Write the pictures of each page beside the markdown");
  command
      ->add_option("--in-flight", request->in_flight, "Documents handed in at once, 1 to 100 (default: 16)")
      ->check(CLI::Range(1, 100));
  auto options = add_client_options(*command);
  command->footer(kAgain);
  command->callback([=, &exit_code] { exit_code = cli::run_ocr(*request, *options); });
}

void add_transcribe(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("transcribe", "Writes down what recordings say");
  auto request = std::make_shared<cli::TranscribeRequest>();
  command
      ->add_option("inputs", request->inputs,
                   "Files, folders with FLAC, MP3, M4A, Ogg, WAV, WebM …, or - for standard input")
      ->required();
  command
      ->add_option("-o,--output", request->output_folder,
                   "Folder for the transcripts (default: standard output)")
      ->option_text("DIR");
  command->add_option("--format", request->format, "text, srt, vtt, json or verbose_json (default: text)")
      ->check(CLI::IsMember({"text", "srt", "vtt", "json", "verbose_json"}));
  command->add_option("--model", request->model, "Model (default: the local engine, English)");
  command->add_option("--language", request->language, "Language that is spoken, \"en\"");
  command->add_flag("--translate", request->translate, "Into English");
  command
      ->add_option("--in-flight", request->in_flight, "Recordings handed in at once, 1 to 100 (default: 16)")
      ->check(CLI::Range(1, 100));
  auto options = add_client_options(*command);
  command->footer(kAgain);
  command->callback([=, &exit_code] { exit_code = cli::run_transcribe(*request, *options); });
}

void add_job_result(CLI::App& jobs, int& exit_code) {
  CLI::App* command = jobs.add_subcommand("result", "What a job has come to, as the API answers it");
  auto request = std::make_shared<cli::JobResultRequest>();
  command->add_option("id", request->job, "Job id")->required();
  command->add_option("-o,--output", request->output, "File for it (default: standard output)")
      ->option_text("FILE");
  command
      ->add_option("--format", request->format,
                   "Of a transcript: text, srt, vtt, json or verbose_json (default: as it was asked for)")
      ->check(CLI::IsMember({"text", "srt", "vtt", "json", "verbose_json"}));
  command->add_option("--pages", request->pages, "Of a document: zero-based pages, \"0-5,7\" (default: all)");
  command->add_flag("--partial", request->partial, "What there is so far of a job that goes on");
  auto options = add_client_options(*command);
  command->footer("A job that has not ended ends it with exit code 16.");
  command->callback([=, &exit_code] { exit_code = cli::jobs_result(*request, *options); });
}

void add_jobs(CLI::App& app, int& exit_code) {
  CLI::App* jobs = app.add_subcommand("jobs", "Jobs of a running gateway");
  jobs->require_subcommand(1);

  CLI::App* ls = add_list_command(*jobs, "Lists jobs, newest first");
  auto list = std::make_shared<cli::JobsListRequest>();
  ls->add_option("--kind", list->kind, "ocr, stt, chat, exec");
  ls->add_option("--status", list->status, "queued, running, succeeded, failed, cancelled, expired");
  ls->add_option("--model", list->model, "Model asked for");
  ls->add_option("--after", list->created_after, "Created after this RFC 3339 time");
  ls->add_option("--before", list->created_before, "Created before this RFC 3339 time");
  ls->add_option("--text", list->text, "Text in the id");
  ls->add_option("--limit", list->limit, "At most so many (default: 50)")->check(CLI::Range(1, 1'000'000));
  auto list_options = add_client_options(*ls);
  ls->callback([=, &exit_code] { exit_code = cli::jobs_ls(*list, *list_options); });

  const auto add_one = [&](const char* name, const char* help,
                           int (*act)(const std::string&, ClientOptions)) {
    CLI::App* command = jobs->add_subcommand(name, help);
    auto id = std::make_shared<std::string>();
    command->add_option("id", *id, "Job id")->required();
    auto options = add_client_options(*command);
    command->callback([=, &exit_code] { exit_code = act(*id, *options); });
  };
  const auto add_many = [&](const char* name, const char* help,
                            int (*act)(const std::vector<std::string>&, ClientOptions)) {
    CLI::App* command = jobs->add_subcommand(name, help);
    auto ids = std::make_shared<std::vector<std::string>>();
    command->add_option("ids", *ids, "Job ids")->required();
    auto options = add_client_options(*command);
    command->callback([=, &exit_code] { exit_code = act(*ids, *options); });
  };
  add_one("show", "One job, whole", &cli::jobs_show);
  add_job_result(*jobs, exit_code);
  add_one("tail", "Events of a job as they come, until it ends", &cli::jobs_tail);
  add_many("cancel", "Cancels jobs", &cli::jobs_cancel);
  add_many("retry", "Runs failed, expired or cancelled jobs again, each as a new job", &cli::jobs_retry);

  CLI::App* dead = jobs->add_subcommand("dead", "What failed, by kind and error (key with scope admin)");
  auto dead_options = add_client_options(*dead);
  dead->callback([=, &exit_code] { exit_code = cli::jobs_dead(*dead_options); });
}

}  // namespace

void add_client_commands(CLI::App& app, int& exit_code) {
  add_ocr(app, exit_code);
  add_transcribe(app, exit_code);
  add_audio_client_commands(app, exit_code);
  add_chat_client_commands(app, exit_code);
  add_jobs(app, exit_code);
  add_machine_client_commands(app, exit_code);
  add_operator_client_commands(app, exit_code);
}

}  // namespace millrace::app
