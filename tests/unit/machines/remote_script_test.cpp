#include "machines/remote/remote_script.h"

#include <csignal>

#include <gtest/gtest.h>
#include <unistd.h>

#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "platform/process/child.h"
#include "platform/process/memory_file.h"
#include "tests/support/processes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

// Runs the scripts of driver ssh in a shell of this host.
namespace millrace::machines {
namespace {

using How = CommandResult::How;
using Kind = RemoteMessage::Kind;

// The messages and the output of a run.
struct Heard {
  std::vector<RemoteMessage> words;
  std::string out, err;
};

class RemoteScript : public testing::Test {
 protected:
  CommandRequest order_of(std::vector<std::string> command) const {
    CommandRequest order;
    order.execution = execution_;
    order.command = std::move(command);
    return order;
  }
  CommandRequest shell(const std::string& script) const { return order_of({"sh", "-c", script}); }

  process::Captured started(RemoteTask task, const std::string& token, const std::string& input) {
    process::Command command;
    command.argv = {"/bin/sh", "-c", remote_command(task, token)};
    command.environment = {"PATH=/usr/bin:/bin"};
    auto file = process::memory_file(input);
    EXPECT_TRUE(file);
    command.fds = {{0, file->get()}};
    auto captured = process::capture(spawner_, command, {});
    EXPECT_TRUE(captured);
    return *captured;
  }

  Heard run(const CommandRequest& order) {
    const std::string token = make_remote_token();
    const auto captured = started(RemoteTask::kRun, token, remote_run_input(order) + order.input);
    Heard heard;
    heard.out = RemoteOutput(token).passed(captured.out);
    RemoteErrors errors(token);
    errors.add(captured.err);
    while (const auto piece = errors.next()) {
      if (piece->word) {
        heard.words.push_back(remote_message_from(piece->text));
      } else {
        heard.err += piece->text;
      }
    }
    heard.err += errors.rest();
    return heard;
  }

  CommandResult end_of(const CommandRequest& order) {
    Heard heard = run(order);
    return heard.words.empty() ? CommandResult{} : std::move(heard.words.back().end);
  }

  // Unique per test: the end of a run kills all processes with its name, also those of another test.
  const std::string execution_ = "exec-" + base::Uuid::make(base::SystemClock().wall()).str();
  support::TempDir dir_;
  process::Spawner spawner_;
};

TEST_F(RemoteScript, ReportsReadyStartedAndEnded) {
  const Heard heard = run(shell("printf out; printf err >&2; exit 7"));
  ASSERT_EQ(heard.words.size(), 3U);
  EXPECT_EQ(heard.words[0].what, Kind::kReady);
  EXPECT_EQ(heard.words[1].what, Kind::kBegan);
  EXPECT_GT(heard.words[1].runner, 1);
  EXPECT_EQ(heard.words[2].end.how, How::kExited);
  EXPECT_EQ(heard.words[2].end.exit_code, 7);
  EXPECT_EQ(heard.out, "out");
  EXPECT_EQ(heard.err, "err");
}

TEST_F(RemoteScript, DistinguishesASignalFromAnExitCode) {
  EXPECT_EQ(end_of(shell("kill -TERM $$")).signal, SIGTERM);
  EXPECT_EQ(end_of(shell("exit 143")).exit_code, 143);
  EXPECT_EQ(end_of(shell("kill -INT $$")).signal, SIGINT) << "SIGINT must not be ignored";
}

TEST_F(RemoteScript, ArgumentsVariablesAndInputMayHoldAnyByte) {
  std::string all;
  for (int i = 1; i < 256; ++i) all.push_back(static_cast<char>(i));
  CommandRequest order = order_of({"sh", "-c", "printf %s \"$1$VALUE\"; cat", "sh", all});
  order.environment = {{"VALUE", "'\"$(echo no)`echo no`\n" + all}, {"odd name.", "x"}};
  order.input = std::string(1, '\0') + all;
  EXPECT_TRUE(run(order).out == all + order.environment[0].second + order.input);
}

TEST_F(RemoteScript, NoValueIsOnTheCommandLine) {
  CommandRequest order = shell("tr '\\0' '\\n' </proc/$PPID/cmdline");
  order.environment = {{"SECRET", "a-secret"}};
  EXPECT_EQ(run(order).out.find("a-secret"), std::string::npos);
}

TEST_F(RemoteScript, ACommandThatCannotBeginIsReportedAsTheSandboxDoes) {
  dir_.write("plain", "echo no");
  CommandRequest order = order_of({"no-such-command"});
  const std::string missing = "the command, or the interpreter that it names, does not exist";
  EXPECT_EQ(end_of(order).message, missing);
  EXPECT_EQ(end_of(order).how, How::kPrepareFailed);
  EXPECT_EQ(end_of(order_of({""})).message, missing);
  order.cwd = dir_.str();
  order.command = {"./plain"};
  EXPECT_EQ(end_of(order).message, "the command is not executable");
  order.cwd = dir_.str() + "/plain";
  EXPECT_EQ(end_of(order).message, "cwd is not a folder");
  order.cwd = dir_.str() + "/missing";
  EXPECT_EQ(end_of(order).message, "cwd does not exist");
  EXPECT_EQ(run(order).err, "");
}

TEST_F(RemoteScript, WithoutAnOrderNothingRuns) {
  const auto captured = started(RemoteTask::kRun, "token", "");
  EXPECT_EQ(captured.out, "token");
  EXPECT_EQ(captured.err, "token ready\n");
}

TEST_F(RemoteScript, WhatTheCommandLeavesIsKilledHoweverItHides) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string nap = "setsid sleep 7401." + std::to_string(::getpid()) + "1";
  const Heard heard = run(shell("(env -i " + nap + " &) ; " + nap + " & echo done"));
  EXPECT_EQ(heard.out, "done\n");
  EXPECT_EQ(support::processes_with("7401." + std::to_string(::getpid()) + "1"), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(RemoteScript, ASweepFindsItsTreeByTheMarkAlone) {
  process::Command command;
  command.argv = {"/bin/sleep", "7402.25"};
  command.environment = {"A=b", "MILLRACE_EXECUTION_ID=exec-7402"};
  auto child = process::Child::start(spawner_, command);
  ASSERT_TRUE(child);
  started(RemoteTask::kSweep, "t", remote_sweep_input({"exec-740", "other", 0}, SIGKILL));
  EXPECT_FALSE(child->wait(std::chrono::milliseconds(0))) << "it belongs to another execution";
  // The process is not the runner: its children are not killed.
  started(RemoteTask::kSweep, "t", remote_sweep_input({"exec-740", "other", ::getpid()}, SIGKILL));
  EXPECT_FALSE(child->wait(std::chrono::milliseconds(0)));
  started(RemoteTask::kSweep, "t", remote_sweep_input({"exec-7402", "other", 0}, SIGTERM));
  const auto exit = child->wait(support::kDeadline);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGTERM);
}

TEST(RemoteErrors, AReportIsFoundHoweverTheReadsAreSplit) {
  const std::string token = "0123456789abcdef0123456789abcdef";
  const std::string stream = token + " ready\nplain 0123" + token + " exit 3\n0123456789abcdef";
  for (std::size_t step = 1; step < stream.size(); ++step) {
    RemoteErrors errors(token);
    std::string plain;
    std::vector<std::string> words;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      errors.add(std::string_view(stream).substr(at, step));
      while (const auto piece = errors.next()) {
        if (piece->word) words.emplace_back(piece->text);
        if (!piece->word) plain += piece->text;
      }
    }
    plain += errors.rest();
    EXPECT_EQ(plain, "plain 01230123456789abcdef") << step;
    EXPECT_EQ(words, (std::vector<std::string>{"ready", "exit 3"})) << step;
  }
}

TEST(RemoteErrors, ATokenWithoutAnEndOfLineIsNotWaitedForWithoutBound) {
  RemoteErrors errors("token");
  errors.add("token" + std::string(10'000, 'x'));
  const auto piece = errors.next();
  ASSERT_TRUE(piece);
  EXPECT_EQ(remote_message_from(piece->text).what, Kind::kBroken);
}

TEST(RemoteOutput, WhatAShellWroteBeforeIsDropped) {
  const std::string stream = "welcome to tok\ntokenoutput token";
  for (std::size_t step = 1; step < stream.size(); ++step) {
    RemoteOutput output("token");
    std::string passed;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      passed += output.passed(std::string_view(stream).substr(at, step));
    }
    EXPECT_EQ(passed, "output token") << step;
  }
}

}  // namespace
}  // namespace millrace::machines
