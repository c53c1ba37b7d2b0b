#include "app/commands/client_commands.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli/batch/ocr_command.h"
#include "app/cli/batch/transcribe_command.h"
#include "app/cli/chat/chat_command.h"
#include "app/cli/chat/models_command.h"
#include "app/cli/chat/speak_command.h"
#include "app/cli/client.h"
#include "app/cli/files/files_command.h"
#include "app/cli/jobs/jobs_command.h"
#include "app/cli/jobs/queues_command.h"
#include "app/cli/program.h"
#include "app/commands/client_batch_commands.h"
#include "app/commands/client_machine_commands.h"
#include "app/commands/client_webhook_commands.h"
#include "app/config/settings.h"
#include "schemas/media/speech.h"

namespace millrace::app {

CLI::App* add_list_command(CLI::App& group, const char* help) {
  return group.add_subcommand("ls", help)->alias("list");
}

namespace {

using cli::ClientOptions;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

bool is_visible(char c) { return c > ' ' && c <= '~'; }

// Chooses the key if no flag gives one. With --data: the admin key of that directory, for any gateway,
// because the user named it. Otherwise the key of the environment. Otherwise this machine's admin key, but
// only for a gateway on this machine.
void settle(ClientOptions& options) {
  if (options.url.find("://") == std::string::npos) options.url.insert(0, "http://");
  options.key_typed = !options.key.empty();
  if (options.key.empty() && options.data.empty()) options.key = variable("MILLRACE_API_KEY");
  if (!std::ranges::all_of(options.key, is_visible)) {
    throw CLI::ValidationError(options.key_typed ? "--key" : "MILLRACE_API_KEY",
                               "has a blank, a line break or another character that no API key has");
  }
  if (!options.key.empty()) return;
  const std::string named = variable("MILLRACE_DATA");
  const std::string usual = named.empty() ? default_data_dir() : named;
  if (options.data.empty() && !cli::is_local_gateway(options.url)) return;
  const std::string path = (options.data.empty() ? usual : options.data) + "/admin.key";
  options.key = first_line(path);
  if (options.key.empty() && !options.data.empty())
    std::cerr << "millrace: " << path << " cannot be read, or holds no key\n";
}

}  // namespace

std::shared_ptr<ClientOptions> add_client_options(CLI::App& command) {
  auto options = std::make_shared<ClientOptions>();
  command.add_option("--url", options->url, "The gateway (default: http://127.0.0.1:8080)")
      ->envname("MILLRACE_URL")
      ->check([](const std::string& url) { return cli::url_problem(url); });
  // Its variable has lower precedence than --data, so it cannot be an `envname`, which CLI11 treats like
  // --key.
  command.add_option("--key", options->key,
                     "API key (Env:MILLRACE_API_KEY; default: DATA/admin.key if readable)");
  command
      .add_option("--data", options->data,
                  "Data directory whose admin.key is used. It overrides MILLRACE_API_KEY, for every --url "
                  "(MILLRACE_DATA is used only without a key, and only for loopback URLs)")
      ->option_text("DIR")
      ->check([](const std::string& folder) { return folder.empty() ? "\"\" is no folder" : ""; });
  command.add_flag("--json", options->json, "One JSON object per line on stdout");
  command.add_flag("-q,--quiet", options->quiet, "No progress on stderr");
  command.add_flag("--no-color", options->no_color, "No colours (also NO_COLOR)");
  command.parse_complete_callback([options] { settle(*options); });
  return options;
}

void add_start_options(CLI::App& command, cli::JobStartFlags& start) {
  CLI::Option* run_at =
      command.add_option("--run-at", start.run_at, "Starts at this time: RFC 3339, or Unix seconds")
          ->option_text("TIME");
  command.add_option("--delay", start.delay, "Starts after this time, such as 15m or 90s")
      ->option_text("TIME")
      ->excludes(run_at);
}

namespace {

void add_list(CLI::App& group, const char* help, int (*act)(cli::ClientOptions), int& exit_code) {
  CLI::App* command = add_list_command(group, help);
  auto options = add_client_options(*command);
  command->callback([=, &exit_code] { exit_code = act(*options); });
}

// A command that acts on one or more named objects.
struct NamedAct {
  const char* name;
  const char* help;
  const char* word;
  const char* words_help;
  int (*act)(const std::vector<std::string>&, cli::ClientOptions);
};

void add_named(CLI::App& group, const NamedAct& named, int& exit_code) {
  CLI::App* command = group.add_subcommand(named.name, named.help);
  auto names = std::make_shared<std::vector<std::string>>();
  command->add_option(named.word, *names, named.words_help)->required();
  auto options = add_client_options(*command);
  command->callback([=, act = named.act, &exit_code] { exit_code = act(*names, *options); });
}

void add_queues(CLI::App& app, int& exit_code) {
  CLI::App* queues = app.add_subcommand("queues", "Queues of a running gateway (key with scope admin)");
  queues->require_subcommand(1);
  constexpr const char* kKinds = "ocr, stt, chat, exec";
  add_list(*queues, "Shows what is queued and running per kind, and which queues are paused", &cli::queues_ls,
           exit_code);
  add_named(*queues,
            {"pause", "Stops starting jobs of these kinds; running jobs continue", "kinds", kKinds,
             &cli::queues_pause},
            exit_code);
  add_named(*queues, {"resume", "Resumes paused queues", "kinds", kKinds, &cli::queues_resume}, exit_code);
}

void add_workers(CLI::App& app, int& exit_code) {
  CLI::App* workers = app.add_subcommand("workers", "Workers of a running gateway (key with scope admin)");
  workers->require_subcommand(1);
  add_list(*workers, "Lists workers with their slots and last heartbeats", &cli::workers_ls, exit_code);
  add_named(*workers,
            {"drain", "Drains workers: they finish running jobs and claim no others, until they restart",
             "names", "Names, as `workers ls` shows them", &cli::workers_drain},
            exit_code);
}

}  // namespace

void add_operator_client_commands(CLI::App& app, int& exit_code) {
  add_queues(app, exit_code);
  add_workers(app, exit_code);
}

namespace {

void add_speak(CLI::App& app, int& exit_code) {
  CLI::App* speak = app.add_subcommand("speak", "Speaks a text; the audio is written while it is generated");
  auto arguments = std::make_shared<cli::SpeakArguments>();
  speak->add_option("text", arguments->text, "Text; - for standard input (default: standard input)");
  speak->add_option("-o,--output", arguments->output,
                    "File; its extension sets the format (default: standard output)");
  speak->add_option("--voice", arguments->voice,
                    "alloy, nova, onyx, … or one of a provider's (default: alloy)");
  speak
      ->add_option("--format", arguments->format,
                   "mp3, opus, aac, flac, wav or pcm (default: by the extension, or mp3)")
      ->check(CLI::IsMember({"mp3", "opus", "aac", "flac", "wav", "pcm"}));
  speak->add_option("--speed", arguments->speed, "0.25 to 4 (default: 1)")
      ->check(CLI::Range(schemas::kSpeechSpeedMin, schemas::kSpeechSpeedMax));
  speak->add_option("-m,--model", arguments->model, "Model (default: the local one)");
  auto options = add_client_options(*speak);
  speak->footer("At most 4,096 characters per request. pcm is 24 kHz, 16 bit, mono, little-endian.");
  speak->callback([=, &exit_code] { exit_code = cli::run_speak(*arguments, *options); });
}

}  // namespace

void add_audio_client_commands(CLI::App& app, int& exit_code) { add_speak(app, exit_code); }

namespace {

constexpr int kTokensMost = 1'000'000'000;
constexpr double kHottest = 2;

void add_manner(CLI::App& chat, cli::ChatArguments& arguments) {
  chat.add_option("-m,--model", arguments.model, "Model (default: the only chat model)");
  chat.add_option("--system", arguments.system, "System message");
  chat.add_option("--image", arguments.images, "PNG, JPEG, GIF or WebP, or the URL of one; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  chat.add_option("--max-tokens", arguments.max_tokens, "Limit of the answer in tokens, including reasoning")
      ->check(CLI::Range(1, kTokensMost));
  chat.add_option("--temperature", arguments.temperature, "0 to 2")->check(CLI::Range(0.0, kHottest));
  chat.add_flag("--no-stream", arguments.no_stream, "Prints the answer when it is complete");
  chat.add_flag("-v,--verbose", arguments.verbose, "Prints model, tokens and price on stderr");
}

void add_chat(CLI::App& app, int& exit_code) {
  CLI::App* chat = app.add_subcommand("chat", "Sends a message to a model and streams its answer");
  auto arguments = std::make_shared<cli::ChatArguments>();
  add_manner(*chat, *arguments);
  CLI::Option* deferred =
      chat->add_flag("--deferred", arguments->deferred, "Submits a job, prints its id and exits");
  add_start_options(*chat, arguments->start);
  chat->add_flag("--wait", arguments->wait, "With --deferred or --result: waits for the answer");
  CLI::Option* result =
      chat->add_option("--result", arguments->result, "Prints the answer of a deferred request, by its id");
  chat->add_option("message", arguments->message,
                   "The message; - for standard input (default: standard input)")
      ->excludes(result);
  deferred->excludes(result);
  auto options = add_client_options(*chat);
  chat->footer(
      "Without a message, at a terminal, it starts a conversation: each line is a message, Ctrl-C stops an "
      "answer, Ctrl-D exits, /help shows more. --json prints each chunk of a stream, or the whole answer, as "
      "a line. If the answer is not ready, --result waits for it at a terminal; otherwise it exits with "
      "code 16.");
  chat->callback([=, &exit_code] { exit_code = cli::run_chat(*arguments, *options); });
}

void add_models(CLI::App& app, int& exit_code) {
  CLI::App* models =
      app.add_subcommand("models", "Models of a running gateway, and local models to download");
  models->require_subcommand(1);

  CLI::App* ls = add_list_command(*models, "Lists models, including those of providers");
  auto list_options = add_client_options(*ls);
  ls->callback([=, &exit_code] { exit_code = cli::models_ls(*list_options); });

  CLI::App* show = models->add_subcommand("show", "Shows one model");
  auto name = std::make_shared<std::string>();
  show->add_option("name", *name, "Model, as in openai/gpt-4.1")->required();
  auto show_options = add_client_options(*show);
  show->callback([=, &exit_code] { exit_code = cli::models_show(*name, *show_options); });
}

void add_files(CLI::App& app, int& exit_code) {
  constexpr int kHoursMost = 87'600;
  CLI::App* files = app.add_subcommand("files", "Files that are stored by a running gateway");
  files->require_subcommand(1);

  CLI::App* ls = add_list_command(*files, "Lists files, newest first");
  auto purpose = std::make_shared<std::string>();
  ls->add_option("--purpose", *purpose, "Only files with this purpose");
  auto list_options = add_client_options(*ls);
  ls->callback([=, &exit_code] { exit_code = cli::files_ls(*purpose, *list_options); });

  CLI::App* put = files->add_subcommand("put", "Uploads files and prints the id of each");
  auto uploads = std::make_shared<cli::FilesPutRequest>();
  put->add_option("paths", uploads->paths,
                  "Files of at most 512 MiB; - for standard input. Those above 64 MiB go in parts")
      ->required();
  put->add_option("--purpose", uploads->purpose,
                  "What they are for: batch, ocr, user_data, … (default: user_data)");
  put->add_option("--expire-hours", uploads->expire_hours,
                  "Deletes them after so many hours (default: never)")
      ->check(CLI::Range(1, kHoursMost));
  auto put_options = add_client_options(*put);
  put->callback([=, &exit_code] { exit_code = cli::files_put(*uploads, *put_options); });

  CLI::App* get = files->add_subcommand("get", "Downloads a file");
  auto download = std::make_shared<cli::FilesGetRequest>();
  get->add_option("file", download->file, "Its id, as `files ls` shows it")->required();
  get->add_option("-o,--output", download->output,
                  "Where to write it; - for standard output (default: its own name)")
      ->option_text("FILE");
  auto get_options = add_client_options(*get);
  get->callback([=, &exit_code] { exit_code = cli::files_get(*download, *get_options); });

  add_named(*files,
            {"rm", "Deletes files; jobs that use them keep their content", "files",
             "Ids, as `files ls` shows them", &cli::files_rm},
            exit_code);
}

}  // namespace

void add_chat_client_commands(CLI::App& app, int& exit_code) {
  add_chat(app, exit_code);
  add_files(app, exit_code);
  add_models(app, exit_code);
}

namespace {

using cli::ClientOptions;

constexpr const char* kAgain =
    "A second run with the same -o folder processes only files that are missing, have changed or have "
    "failed. "
    "Ctrl-C exits and the jobs continue; a second Ctrl-C within 2 s cancels them.";

void add_ocr(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("ocr", "Converts PDFs and images to Markdown");
  auto request = std::make_shared<cli::OcrArguments>();
  command
      ->add_option("inputs", request->inputs,
                   "Files, folders with PDF, PNG, JPEG or WebP, or - for standard input")
      ->required();
  command
      ->add_option("-o,--output", request->output_folder,
                   "Folder for the Markdown (default: standard output)")
      ->option_text("DIR");
  command->add_option("--pages", request->pages, "Zero-based pages, \"0-5,7\" (default: all)");
  command->add_option("--model", request->model, "OCR model (default: the local engine)");
  command->add_flag("--images", request->images, "Writes the images of each page next to the Markdown");
  command->add_flag("--page-marks", request->join.page_marks,
                    "Writes `<!-- page 2 -->` before each page but the first");
  command->add_flag("--keep-running-lines", request->join.keep_running_lines,
                    "Keeps the lines that most pages begin or end with, and page numbers");
  add_start_options(*command, request->start);
  command
      ->add_option("--in-flight", request->in_flight, "Documents submitted at once, 1 to 100 (default: 16)")
      ->check(CLI::Range(1, 100));
  auto options = add_client_options(*command);
  command->footer(kAgain);
  command->callback([=, &exit_code] { exit_code = cli::run_ocr(*request, *options); });
}

void add_transcribe(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("transcribe", "Transcribes recordings");
  auto request = std::make_shared<cli::TranscribeArguments>();
  command
      ->add_option("inputs", request->inputs,
                   "Files, folders with FLAC, MP3, M4A, Ogg, WAV, WebM …, or - for standard input")
      ->required();
  command
      ->add_option("-o,--output", request->output_folder,
                   "Folder for the transcripts (default: standard output)")
      ->option_text("DIR");
  command
      ->add_option("--format", request->format,
                   "text, srt, vtt, json, verbose_json or diarized_json (default: text)")
      ->check(CLI::IsMember({"text", "srt", "vtt", "json", "verbose_json", "diarized_json"}));
  command->add_option("-m,--model", request->model,
                      "Model (default: the gateway's default local model, English)");
  command->add_option("--language", request->language, "Language of the recording, such as en");
  command->add_flag("--translate", request->translate, "Translates into English");
  add_start_options(*command, request->start);
  command
      ->add_option("--in-flight", request->in_flight, "Recordings submitted at once, 1 to 100 (default: 16)")
      ->check(CLI::Range(1, 100));
  auto options = add_client_options(*command);
  command->footer(kAgain);
  command->callback([=, &exit_code] { exit_code = cli::run_transcribe(*request, *options); });
}

void add_job_result(CLI::App& jobs, int& exit_code) {
  CLI::App* command = jobs.add_subcommand("result", "Prints the result of a job, as the API returns it");
  auto request = std::make_shared<cli::JobResultRequest>();
  command->add_option("id", request->job, "Job id")->required();
  command->add_option("-o,--output", request->output, "File for the result (default: standard output)")
      ->option_text("FILE");
  command
      ->add_option("--format", request->format,
                   "Format of a transcript: text, srt, vtt, json, verbose_json or diarized_json (default: as "
                   "requested)")
      ->check(CLI::IsMember({"text", "srt", "vtt", "json", "verbose_json", "diarized_json"}));
  command->add_option("--pages", request->pages, "Zero-based pages of a document, \"0-5,7\" (default: all)");
  command->add_flag("--partial", request->partial, "The result so far of a running job");
  auto options = add_client_options(*command);
  command->footer("If the job has not ended, the exit code is 16.");
  command->callback([=, &exit_code] { exit_code = cli::jobs_result(*request, *options); });
}

void add_jobs(CLI::App& app, int& exit_code) {
  CLI::App* jobs = app.add_subcommand("jobs", "Jobs of a running gateway");
  jobs->require_subcommand(1);

  CLI::App* ls = add_list_command(*jobs, "Lists jobs, newest first");
  auto list = std::make_shared<cli::JobsListRequest>();
  ls->add_option("--kind", list->kind, "ocr, stt, chat, exec");
  ls->add_option("--status", list->status,
                 "scheduled, queued, running, succeeded, failed, cancelled, expired");
  ls->add_option("--model", list->model, "Requested model");
  ls->add_option("--after", list->created_after, "Created after this RFC 3339 time");
  ls->add_option("--before", list->created_before, "Created before this RFC 3339 time");
  ls->add_option("--text", list->text, "Text that the id or name contains");
  ls->add_option("--metadata", list->metadata, "KEY=VALUE of their metadata; may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->check([](const std::string& pair) {
        return pair.find('=') == std::string::npos ? "\"" + pair + "\" is not KEY=VALUE" : std::string();
      });
  ls->add_option("--limit", list->limit, "Maximum number (default: 50)")->check(CLI::Range(1, 1'000'000));
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
  add_one("show", "Shows one job with all fields", &cli::jobs_show);
  add_job_result(*jobs, exit_code);
  add_one("tail", "Prints the events of a job until it ends", &cli::jobs_tail);
  add_many("cancel", "Cancels jobs", &cli::jobs_cancel);
  add_many("retry", "Runs failed, expired or cancelled jobs again, each as a new job", &cli::jobs_retry);
  add_many("rm", "Deletes jobs with their requests and results; running ones are cancelled first",
           &cli::jobs_rm);

  CLI::App* dead = jobs->add_subcommand("dead", "Shows failures by kind and error (key with scope admin)");
  auto dead_options = add_client_options(*dead);
  dead->callback([=, &exit_code] { exit_code = cli::jobs_dead(*dead_options); });
}

}  // namespace

void add_client_commands(CLI::App& app, int& exit_code) {
  add_ocr(app, exit_code);
  add_transcribe(app, exit_code);
  add_audio_client_commands(app, exit_code);
  add_chat_client_commands(app, exit_code);
  add_webhook_client_commands(app, exit_code);
  add_jobs(app, exit_code);
  add_batch_client_commands(app, exit_code);
  add_machine_client_commands(app, exit_code);
  add_operator_client_commands(app, exit_code);
}

}  // namespace millrace::app
