#include "app/commands/client_machine_commands.h"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli/machines/exec_command.h"
#include "app/cli/machines/exec_copy.h"
#include "app/cli/machines/machines_command.h"
#include "app/cli/machines/ssh_command.h"
#include "app/commands/client_commands.h"

namespace millrace::app {
namespace {

using cli::ClientOptions;

// Flags of ssh that rsync, scp and people give it.
constexpr std::array<std::pair<const char*, const char*>, 10> kSshFlags{{{"-4", "IPv4 only"},
                                                                         {"-6", "IPv6 only"},
                                                                         {"-a", "No agent forwarding"},
                                                                         {"-C", "Compresses"},
                                                                         {"-n", "No standard input"},
                                                                         {"-s", "The command is a subsystem"},
                                                                         {"-t", "Asks for a terminal"},
                                                                         {"-T", "Asks for no terminal"},
                                                                         {"-v", "Verbose"},
                                                                         {"-x", "No X11 forwarding"}}};

constexpr const char* kMachineHelp = "Machine, by id or name (default: local)";
constexpr const char* kMachineOfHelp = "Machine, by id or name (default: the one that has the execution)";

void add_exec_run(CLI::App& exec, int& exit_code) {
  CLI::App* run = exec.add_subcommand("run", "Runs a command and streams its output");
  auto request = std::make_shared<cli::ExecRequest>();
  run->add_option("-m,--machine", request->machine, kMachineHelp);
  run->add_option("-e,--env", request->environment, "NAME=value for the command's environment")
      ->take_all()
      ->allow_extra_args(false);
  run->add_option("--cwd", request->cwd, "Working directory (default: /workspace)");
  run->add_option("--timeout", request->timeout, "Time limit, such as 10m (the default) or 90s");
  run->add_option("--stdin", request->input,
                  "File for the command's standard input; - for the standard input of millrace");
  add_start_options(*run, request->start);
  CLI::Option* follow = run->add_flag_callback(
      "--follow", [] {}, "Streams the output (the default)");
  CLI::Option* detach =
      run->add_flag("-d,--detach", request->detach, "Prints the execution's id and exits")->excludes(follow);
  run->add_flag("--exit-status", request->exit_status, "Exits with the command's exit code (below)");
  run->add_flag("--kill-on-disconnect", request->kill_on_disconnect,
                "Cancels the command if the output is closed (| head) or the terminal is")
      ->excludes(detach);
  run->add_option("command", request->command, "The command and its arguments")->required();
  auto run_options = add_client_options(*run);
  run->footer(
      "No shell is involved; -- sh -c 'a | b' starts one. Ctrl-C cancels; a second Ctrl-C exits at "
      "once. If the output or the terminal is closed, the command goes on.\nExit code: 0 if the command "
      "succeeded, 1 if it failed, 130 after Ctrl-C, 129 or 141 if the terminal or the output was closed, 2 "
      "or 10 to 15 if the "
      "request failed. With --exit-status it is the command's exit code; 128 + N if signal N ended the "
      "command; 124 after --timeout; 125 if the command could not be started, its worker or machine was "
      "lost, "
      "or another client cancelled it.");
  run->callback([=, &exit_code] { exit_code = cli::exec_run(*request, *run_options); });
}

void add_exec_logs(CLI::App& exec, int& exit_code) {
  CLI::App* logs = exec.add_subcommand("logs", "Prints the output of an execution");
  auto logged = std::make_shared<cli::ExecLogsRequest>();
  logs->add_option("id", logged->execution, "Execution id")->required();
  logs->add_option("-m,--machine", logged->machine, kMachineOfHelp);
  logs->add_flag("-f,--follow", logged->follow, "Follows the output until it ends");
  auto logs_options = add_client_options(*logs);
  logs->callback([=, &exit_code] { exit_code = cli::exec_logs(*logged, *logs_options); });
}

void add_exec_list(CLI::App& exec, int& exit_code) {
  CLI::App* ls = add_list_command(exec, "Lists a machine's executions, newest first");
  auto request = std::make_shared<cli::ExecListRequest>();
  ls->add_option("-m,--machine", request->machine, kMachineHelp);
  ls->add_option("--limit", request->limit, "Maximum number (default: 50)")->check(CLI::Range(1, 1'000'000));
  auto options = add_client_options(*ls);
  ls->callback([=, &exit_code] { exit_code = cli::exec_ls(*request, *options); });
}

void add_exec_copy(CLI::App& exec, int& exit_code) {
  CLI::App* cp =
      exec.add_subcommand("cp", "Copies files into machines and out of them, and artifacts of executions");
  auto request = std::make_shared<cli::ExecCopyRequest>();
  cp->add_option(
        "paths", request->paths,
        "MACHINE:PATH or EXECUTION:NAME …, then a folder, a file, or -. Or FILE …, then MACHINE:PATH")
      ->required();
  cp->add_option("-m,--machine", request->machine, kMachineOfHelp);
  auto options = add_client_options(*cp);
  cp->footer(
      "PATH begins at the machine's folder: /workspace, or the home of its user; `MACHINE:` and "
      "`MACHINE:DIR/` "
      "keep the file's name. EXECUTION:NAME is a file that an execution wrote to $MILLRACE_ARTIFACTS; "
      "EXECUTION: alone copies all of them. A missing folder is created. In a folder, each artifact keeps "
      "its "
      "whole name, including its folders; `-` is standard output, or standard input.");
  cp->callback([=, &exit_code] { exit_code = cli::exec_copy(*request, *options); });
}

void add_exec(CLI::App& app, int& exit_code) {
  CLI::App* exec = app.add_subcommand("exec", "Commands on machines");
  exec->require_subcommand(1);
  add_exec_run(*exec, exit_code);
  add_exec_list(*exec, exit_code);
  add_exec_logs(*exec, exit_code);
  add_exec_copy(*exec, exit_code);
}

void add_ssh(CLI::App& app, int& exit_code) {
  CLI::App* ssh = app.add_subcommand("ssh", "Logs in to a machine with stock ssh");
  auto request = std::make_shared<cli::SshArguments>();
  ssh->add_option("machine", request->machine, "Machine, by id or name")->required();
  ssh->add_option("command", request->command, "Command, as for ssh (default: a shell)");
  ssh->add_option("-o,--ssh-option", request->options, "KEY=value, passed to ssh as -o")
      ->take_all()
      ->allow_extra_args(false);
  for (const auto& [flag, help] : kSshFlags)
    ssh->add_flag_callback(
        flag, [request, flag = std::string(flag)] { request->flags.push_back(flag); }, help);
  auto options = add_client_options(*ssh);
  ssh->footer(
      "What follows the machine's name begins the command at the first word that is no flag.\n"
      "Creates a key for this login, gets a certificate for it, trusts the host key that the gateway "
      "reports, and closes the session at the end. The exit code is ssh's.");
  ssh->callback([=, &exit_code] { exit_code = cli::run_ssh(*request, *options); });
}

void add_machine_flags(CLI::App& command, cli::MachineArguments& arguments) {
  command.add_option("--name", arguments.name, "1 to 63 of A-Z a-z 0-9 . _ -");
  command.add_option("--vcpu", arguments.vcpu, "Processors, such as 0.5 or 2");
  command.add_option("--memory-mib", arguments.memory_mib, "Memory, in MiB");
  command.add_option("--storage-gib", arguments.storage_gib, "Disk, in GiB; it can only grow");
  command.add_option("--autosleep", arguments.autosleep,
                     "Time without use before it sleeps: 30s, 15m, 7d3h4s, never");
}

std::shared_ptr<cli::MachineWait> add_wait_flags(CLI::App& command, const char* what) {
  auto wait_options = std::make_shared<cli::MachineWait>();
  command.add_flag("--wait", wait_options->wait, what);
  command.add_option("--wait-timeout", wait_options->timeout, "Time limit of --wait (default: 5m)");
  return wait_options;
}

void add_machine_sizes(CLI::App& machines, int& exit_code) {
  CLI::App* create = machines.add_subcommand("create", "Creates a sandboxed machine and prints its id");
  auto arguments = std::make_shared<cli::MachineArguments>();
  add_machine_flags(*create, *arguments);
  create->add_option("--host", arguments->host,
                     "Host that runs it, if the gateway has several (default: the emptiest)");
  auto wait_options = add_wait_flags(*create, "Waits until it is running");
  auto create_options = add_client_options(*create);
  create->callback(
      [=, &exit_code] { exit_code = cli::machines_create(*arguments, *wait_options, *create_options); });

  CLI::App* change = machines.add_subcommand("change", "Changes a machine's size, name or autosleep");
  auto machine = std::make_shared<std::string>();
  auto changes = std::make_shared<cli::MachineArguments>();
  change->add_option("machine", *machine, "Machine, by id or name")->required();
  add_machine_flags(*change, *changes);
  auto change_options = add_client_options(*change);
  change->callback(
      [=, &exit_code] { exit_code = cli::machines_change(*machine, *changes, *change_options); });
}

std::shared_ptr<std::vector<std::string>> add_names(CLI::App& command) {
  auto names = std::make_shared<std::vector<std::string>>();
  command.add_option("machines", *names, "Machines, by id or name")->required();
  return names;
}

void add_machine_states(CLI::App& machines, int& exit_code) {
  const auto add = [&](const char* name, const char* help,
                       int (*act)(const std::vector<std::string>&, const cli::MachineWait&, ClientOptions)) {
    CLI::App* command = machines.add_subcommand(name, help);
    auto names = add_names(*command);
    auto wait_options =
        add_wait_flags(*command, "Waits until they have reached the state or failed (exit code 1)");
    auto options = add_client_options(*command);
    command->callback([=, &exit_code] { exit_code = act(*names, *wait_options, *options); });
  };
  add("sleep", "Puts machines to sleep; their disks stay", &cli::machines_sleep);
  add("wake", "Wakes machines; executions and SSH sessions wake them, too", &cli::machines_wake);

  CLI::App* reboot = machines.add_subcommand("reboot", "Restarts machines");
  auto rebooted = add_names(*reboot);
  auto force = std::make_shared<bool>(false);
  reboot->add_flag("-f,--force", *force, "Cancels their running commands");
  auto reboot_wait = add_wait_flags(*reboot, "Waits until they are running again or failed (exit code 1)");
  auto reboot_options = add_client_options(*reboot);
  reboot->callback([=, &exit_code] {
    exit_code = cli::machines_reboot(*rebooted, *force, *reboot_wait, *reboot_options);
  });

  CLI::App* rm = machines.add_subcommand("rm", "Destroys machines and their disks");
  auto removed = add_names(*rm);
  auto yes = std::make_shared<bool>(false);
  rm->add_flag("-y,--yes", *yes, "Does not ask for confirmation");
  auto rm_wait = add_wait_flags(*rm, "Waits until they are destroyed or failed (exit code 1)");
  auto rm_options = add_client_options(*rm);
  rm->footer(
      "Their running commands are cancelled. On a terminal the command asks for confirmation; elsewhere "
      "--yes "
      "is required. This cannot be undone.");
  rm->callback([=, &exit_code] { exit_code = cli::machines_rm(*removed, *yes, *rm_wait, *rm_options); });
}

void add_machines(CLI::App& app, int& exit_code) {
  CLI::App* machines = app.add_subcommand("machines", "Machines of a running gateway");
  machines->require_subcommand(1);

  CLI::App* ls = add_list_command(*machines, "Lists machines, by name");
  auto ls_options = add_client_options(*ls);
  ls->callback([=, &exit_code] { exit_code = cli::machines_ls(*ls_options); });

  CLI::App* show = machines->add_subcommand("show", "Shows one machine with all fields and its status");
  auto machine = std::make_shared<std::string>();
  show->add_option("machine", *machine, "Machine, by id or name")->required();
  auto show_options = add_client_options(*show);
  show->callback([=, &exit_code] { exit_code = cli::machines_show(*machine, *show_options); });

  add_machine_sizes(*machines, exit_code);
  add_machine_states(*machines, exit_code);
}

}  // namespace

void add_machine_client_commands(CLI::App& app, int& exit_code) {
  add_exec(app, exit_code);
  add_machines(app, exit_code);
  add_ssh(app, exit_code);
}

}  // namespace millrace::app
