#include "tests/contract/driver_contract.h"

#include <csignal>
#include <fstream>

#include <fcntl.h>
#include <sys/resource.h>

#include "platform/base/crypto.h"
#include "tests/support/processes.h"

namespace millrace::machines {
namespace {

using How = CommandResult::How;

std::string all_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 256);
  return bytes;
}

TEST_P(DriverContract, TheExitCodeIsTheCommandsOwn) {
  for (const int code : {0, 1, 126, 127, 128 + SIGTERM, 255}) {
    const CommandRan ran = run(shell("exit " + std::to_string(code)));
    EXPECT_EQ(ran.end.how, How::kExited) << ran.end.message;
    EXPECT_EQ(ran.end.exit_code, code);
  }
}

TEST_P(DriverContract, ASignalIsDistinguishedFromAnExitCode) {
  for (const int signal : {SIGINT, SIGTERM, SIGKILL, SIGSEGV}) {
    const CommandRan ran = run(shell("kill -" + std::to_string(signal) + " $$"));
    EXPECT_EQ(ran.end.how, How::kSignalled) << ran.end.message;
    EXPECT_EQ(ran.end.signal, signal);
  }
}

TEST_P(DriverContract, EachStreamKeepsItsOrder) {
  const CommandRan ran = run(shell("for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done; printf end"));
  EXPECT_EQ(ran.out, "out 1\nout 2\nout 3\nout 4\nout 5\nend");
  EXPECT_EQ(ran.err, "err 1\nerr 2\nerr 3\nerr 4\nerr 5\n");
}

TEST_P(DriverContract, AllBytesPassBothStreamsAndTheInput) {
  CommandRequest request = shell("tee /dev/fd/2");
  request.input = all_bytes(std::size_t{1} << 20);
  const CommandRan ran = run(request);
  EXPECT_TRUE(ran.out == request.input);
  EXPECT_TRUE(ran.err == request.input);
}

TEST_P(DriverContract, TheInputArrivesWholeAndEnds) {
  CommandRequest request = order_of({"sha256sum"});
  EXPECT_EQ(run(request).out.substr(0, 16), "e3b0c44298fc1c14") << "the digest of empty input";
  request.command = {"wc", "-c"};
  request.input = all_bytes(schemas::kStdinBytesMax);
  EXPECT_EQ(run(request).out, std::to_string(request.input.size()) + "\n");
}

// In pieces, however large it is.
TEST_P(DriverContract, AFileAsInputArrivesWholeAndEnds) {
  support::TempDir folder;
  const std::string path = folder.str() + "/input", bytes = all_bytes(std::size_t{20} << 20);
  std::ofstream(path, std::ios::binary) << bytes;
  CommandRequest request = order_of({"sha256sum"});
  request.input_file = std::make_shared<const base::Fd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(*request.input_file);
  EXPECT_EQ(run(request).out, base::hex(base::sha256(bytes)) + "  -\n");
}

TEST_P(DriverContract, ACommandThatDoesNotReadItsInputEndsWell) {
  CommandRequest request = order_of({"true"});
  request.input.assign(schemas::kStdinBytesMax, 'x');
  const CommandRan ran = run(request);
  EXPECT_EQ(ran.end.how, How::kExited) << ran.end.message;
  EXPECT_EQ(ran.end.exit_code, 0);
}

TEST_P(DriverContract, ArgumentsAreNotSeenByAShell) {
  EXPECT_EQ(run(order_of({"printf", "%s|", "$HOME", "a b", "", "*", "'\"\n", "\xff"})).out,
            "$HOME|a b||*|'\"\n|\xff|");
}

TEST_P(DriverContract, ArgumentsAndVariablesMayBeAsLargeAsTheContractSays) {
  const std::string large(schemas::kCommandBytesMax - 1024, 'a');
  CommandRequest request = order_of({"printf", "%s", large});
  EXPECT_TRUE(run(request).out == large);
  request.command = {"sh", "-c", "env | grep -c ^V_; printf %s \"$V_255\""};
  for (std::size_t i = 0; i < schemas::kEnvNamesMax; ++i) {
    request.environment.emplace_back("V_" + std::to_string(i), std::string(400, 'v'));
  }
  EXPECT_EQ(run(request).out, "256\n" + std::string(400, 'v'));
}

TEST_P(DriverContract, VariablesAreThoseOfTheRequestAndTheLastOfANameCounts) {
  CommandRequest request = shell("printf %s \"$A|$B|$MILLRACE_MACHINE_ID\"");
  request.environment = {{"A", "1"}, {"B", "'\"$(echo no)\n"}, {"A", "2"}, {"odd name.", "3"}};
  EXPECT_EQ(run(request).out, "2|'\"$(echo no)\n|" + schemas::machine_id(request.machine.id));
  request.command = {"env"};
  EXPECT_NE(run(request).out.find("\nodd name.=3\n"), std::string::npos);
}

TEST_P(DriverContract, TheCommandIsLookedUpInThePathOfItsEnvironment) {
  output_of("mkdir bin; printf '#!/bin/sh\\necho mine\\n' > bin/tool; chmod 755 bin/tool");
  CommandRequest request = order_of({"tool"});
  EXPECT_EQ(run(request).end.how, How::kPrepareFailed);
  request.environment = {{"PATH", "/nowhere:" + host_->folder() + "/bin"}};
  EXPECT_EQ(run(request).out, "mine\n");
}

TEST_P(DriverContract, ItRunsInTheFolderThatIsNamed) {
  EXPECT_EQ(output_of("mkdir -p 'a/b c'; pwd"), host_->folder() + "\n");
  CommandRequest request = order_of({"pwd"});
  request.cwd += "/a/b c";
  EXPECT_EQ(run(request).out, request.cwd + "\n");
}

TEST_P(DriverContract, APathThatIsNoFolderIsReported) {
  output_of("echo x > file");
  const auto message = [this](const std::string& name) {
    CommandRequest request = order_of({"true"});
    request.cwd += "/" + name;
    const CommandRan ran = run(request);
    EXPECT_EQ(ran.end.how, How::kPrepareFailed) << name;
    EXPECT_EQ(ran.out + ran.err, "");
    return ran.end.message;
  };
  EXPECT_EQ(message("missing"), "cwd does not exist");
  EXPECT_EQ(message("file"), "cwd is not a folder");
}

TEST_P(DriverContract, ACommandThatCannotBeExecutedIsReported) {
  output_of("echo 'echo no' > plain; printf '#!/nowhere/sh\\n' > lost; chmod 755 lost");
  const auto message = [this](const std::string& name) {
    const CommandRan ran = run(order_of({name}));
    EXPECT_EQ(ran.end.how, How::kPrepareFailed) << name;
    EXPECT_EQ(ran.out + ran.err, "");
    return ran.end.message;
  };
  const std::string missing = "the command, or the interpreter that it names, does not exist";
  EXPECT_EQ(message("no-such-command"), missing);
  EXPECT_EQ(message("/no/such/command"), missing);
  EXPECT_EQ(message(""), missing);
  EXPECT_EQ(message("./lost"), missing);
  EXPECT_EQ(message("./plain"), "the command is not executable");
  EXPECT_EQ(message(host_->folder()), "the command is not executable");
}

TEST_P(DriverContract, ALargeOutputIsPassedOnWithoutKeepingIt) {
  constexpr std::size_t kBytes = 100'000'000;
  constexpr long kGrowthMaxKib = 48L << 10;
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  std::size_t bytes = 0;
  const auto count = [&](schemas::OutputStream, std::string_view chunk) { bytes += chunk.size(); };
  const CommandResult end = host_->driver().run(order_of({"head", "-c", std::to_string(kBytes), "/dev/zero"}),
                                                CancelToken(), {count, {}});
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(end.how, How::kExited) << end.message;
  EXPECT_EQ(bytes, kBytes);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, kGrowthMaxKib);
}

TEST_P(DriverContract, WithoutPermissionToStartNothingRuns) {
  int asked = 0;
  const auto no = [&] { return ++asked, false; };
  const CommandRan ran = run_order(*host_, shell("echo begun; touch begun"), CancelToken(), no);
  EXPECT_EQ(ran.end.how, How::kNotStarted);
  EXPECT_EQ(ran.out + ran.err, "");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(output_of("ls"), "");
}

TEST_P(DriverContract, PermissionToStartIsRequestedOnceOnTheRunningThread) {
  int asked = 0;
  std::thread::id where;
  const auto yes = [&] {
    where = std::this_thread::get_id();
    return ++asked, true;
  };
  EXPECT_EQ(run_order(*host_, shell("echo begun"), CancelToken(), yes).out, "begun\n");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST_P(DriverContract, CommandsOfOneMachineRunSideBySide) {
  RunningCommand first(*host_, shell("mkfifo go; echo up; read word < go; echo $word"));
  ASSERT_TRUE(first.says("up"));
  output_of("echo went > go");
  EXPECT_TRUE(first.says("went"));
  EXPECT_EQ(first.end().how, How::kExited);
}

TEST_P(DriverContract, StartAndStopMayBeRepeated) {
  EXPECT_TRUE(host_->driver().start(host_->machine(), {}));
  EXPECT_TRUE(host_->driver().stop(host_->machine(), {}));
  EXPECT_TRUE(host_->driver().stop(host_->machine(), {}));
  EXPECT_TRUE(host_->driver().start(host_->machine(), {}));
  EXPECT_EQ(output_of("echo here"), "here\n");
}

INSTANTIATE_TEST_SUITE_P(Drivers, DriverContract,
                         testing::Values(DriverImplementation{"sandbox", make_sandbox_host},
                                         DriverImplementation{"ssh", make_ssh_host}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace millrace::machines
