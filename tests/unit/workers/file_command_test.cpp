#include "workers/exec/file_command.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schemas/machines/artifact.h"
#include "storage/tenants/tenants.h"
#include "tests/support/answer.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/workers/exec_fixture.h"

namespace millrace::workers {
namespace {

using machines::CancelToken;
using machines::CommandRequest;
using schemas::FileAction;
using schemas::JobStatus;
using Left = std::pair<std::string, std::string>;

std::string rest_of(int file) {
  std::string bytes, piece(4096, '\0');
  for (ssize_t got = 0; (got = ::read(file, piece.data(), piece.size())) > 0;)
    bytes.append(piece, 0, static_cast<std::size_t>(got));
  return bytes;
}

schemas::ExecutionSpec spec_of(const ExecFixture& exec, FileAction action, const std::string& path) {
  schemas::ExecutionSpec spec = exec.spec();
  spec.file = action;
  spec.command = {std::string(name(action)), path};
  return spec;
}

bool limit_stored_bytes(ExecFixture& exec, std::int64_t limit) {
  schemas::Limits limits;
  limits[schemas::Quota::kStoredBytes] = limit;
  support::Answer<bool> set;
  storage::Tenants(*exec.fixture.store).set("default", {.limits = limits, .budget = {}}, set.take(), "test");
  return set.wait().has_value();
}

TEST(FileCommand, APutGetsItsFileAsTheInputAndNotInMemory) {
  const std::string content(200'000, 'c');
  CommandRequest seen;
  std::string input;
  ExecFixture exec([&](const CommandRequest& request, const CancelToken&, const Say&) {
    seen = request;
    input = rest_of(request.input_file->get());
    return exits(0);
  });
  const auto job = exec.submit({.spec = spec_of(exec, FileAction::kPut, "a/b"), .input = content});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_TRUE(input == content);
  EXPECT_EQ(seen.input, "");
  ASSERT_EQ(seen.command.size(), 7u);
  EXPECT_EQ(seen.command[0], "sh");
  EXPECT_EQ(seen.command[4], "a/b");
  EXPECT_EQ(seen.command[5], std::to_string(content.size()));
  EXPECT_EQ(seen.command[6], "1") << "the first attempt";
}

TEST(FileCommand, TheOutputOfAGetBecomesAnArtifactAndNoEvent) {
  const std::string content(60'000, 'c');  // the fixture reads no more than 64 KiB
  ExecFixture exec([&](const CommandRequest&, const CancelToken&, const Say& say) {
    say(kOut, std::string_view(content).substr(0, 100));
    say(kErr, "a warning");
    say(kOut, std::string_view(content).substr(100));
    return exits(0);
  });
  const auto job = exec.submit({.spec = spec_of(exec, FileAction::kGet, "a/b.txt")});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(exec.artifacts(job), (std::vector<Left>{{"b.txt", content}}));
  EXPECT_EQ(exec.output(job, "stdout"), "");
  EXPECT_EQ(exec.output(job, "stderr"), "a warning");
}

TEST(FileCommand, AnEmptyFileIsReadAsOne) {
  ExecFixture exec([&](const CommandRequest&, const CancelToken&, const Say&) { return exits(0); });
  const auto job = exec.submit({.spec = spec_of(exec, FileAction::kGet, "empty")});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(exec.artifacts(job), (std::vector<Left>{{"empty", ""}}));
}

TEST(FileCommand, AGetThatFailsKeepsNoPartOfTheFile) {
  ExecFixture exec([&](const CommandRequest&, const CancelToken&, const Say& say) {
    say(kOut, "half");
    return exits(static_cast<int>(schemas::FileExit::kIncomplete));
  });
  const auto job = exec.submit({.spec = spec_of(exec, FileAction::kGet, "a")});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_TRUE(exec.artifacts(job).empty());
}

TEST(FileCommand, AFileThatGrowsAboveTheLimitEndsTheCommand) {
  const std::string piece(8 << 20, 'x');
  ExecFixture exec([&](const CommandRequest&, const CancelToken& stop, const Say& say) {
    for (int i = 0; i < 14; ++i) say(kOut, piece);
    EXPECT_TRUE(wait_for_stop(stop));
    return ends(machines::CommandResult::How::kStopped);
  });
  const auto job = exec.submit({.spec = spec_of(exec, FileAction::kGet, "a")});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_TRUE(exec.artifacts(job).empty());
  const auto error = exec.fixture.view(job).error;
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, base::Code::kTooLarge) << error->message;
  EXPECT_NE(error->message.find("100MiB"), std::string::npos) << error->message;
}

TEST(FileCommand, AFullQuotaIsNoFailureOfTheHost) {
  ExecFixture exec([&](const CommandRequest&, const CancelToken& stop, const Say& say) {
    say(kOut, std::string(2000, 'x'));
    EXPECT_TRUE(wait_for_stop(stop));
    return ends(machines::CommandResult::How::kStopped);
  });
  ASSERT_TRUE(limit_stored_bytes(exec, 1000));
  const auto job = exec.submit({.spec = spec_of(exec, FileAction::kGet, "a")});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_TRUE(exec.artifacts(job).empty());
  const auto error = exec.fixture.view(job).error;
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(base::name(error->code), base::name(base::Code::kQuotaFull)) << error->message;
  EXPECT_EQ(error->message, schemas::kStoredBytesReached);
}

// Runs the commands in a folder, as a driver does on its machine.
class FileScript : public ::testing::Test {
 protected:
  struct End {
    int exit_code = -1;
    std::string output;
  };
  static constexpr mode_t kUserMask = 027;

  // `bytes`: that the put should have, by default those of `input`.
  End run(FileAction action, const std::string& path, const std::string& input = {}, int attempt = 1,
          std::int64_t bytes = -1) {
    ::setenv("MILLRACE_EXECUTION_ID", "exec-1", 1);
    const std::string in = outside_.write("in", input).string(), out = outside_.write("out", "").string();
    const std::string root = folder_.str();
    std::vector<std::string> words =
        file_command(action, path, bytes < 0 ? static_cast<std::int64_t>(input.size()) : bytes, attempt);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      ::umask(kUserMask);
      const int from = ::open(in.c_str(), O_RDONLY), to = ::open(out.c_str(), O_WRONLY);
      if (::dup2(from, 0) == 0 && ::dup2(to, 1) == 1 && ::chdir(root.c_str()) == 0)
        ::execvp(argv.front(), argv.data());
      ::_exit(127);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out)};
  }
  static std::string content(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string content_of(const std::string& name) const { return content(folder_.path() / name); }
  mode_t mode_of(const std::string& name) const {
    struct stat about {};
    EXPECT_EQ(::stat((folder_.path() / name).c_str(), &about), 0) << name;
    return about.st_mode & 07777u;
  }
  void make(const std::string& name, mode_t mode) const {
    EXPECT_EQ(::chmod(folder_.write(name, "old").c_str(), mode), 0);
  }
  std::size_t entries() const {
    const std::filesystem::directory_iterator all(folder_.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  const support::TempDir folder_, outside_;
};

constexpr int exit_of(schemas::FileExit exit) { return static_cast<int>(exit); }

TEST_F(FileScript, AReplacedFileKeepsItsMode) {
  for (const mode_t mode : {0600u, 0640u, 0755u, 0700u, 0444u, 0666u}) {
    make("file", mode);
    const End end = run(FileAction::kPut, "file", "new");
    EXPECT_EQ(end.exit_code, 0);
    EXPECT_EQ(end.output, "") << "it was there";
    EXPECT_EQ(mode_of("file"), mode);
    EXPECT_EQ(content_of("file"), "new");
    std::filesystem::remove(folder_.path() / "file");
  }
  make("file", 04755);
  EXPECT_EQ(run(FileAction::kPut, "file", "new").exit_code, 0);
  EXPECT_EQ(mode_of("file"), 0755u) << "other bytes do not run as the owner";
  make("private", 0600);
  std::filesystem::create_symlink("private", folder_.path() / "link");
  EXPECT_EQ(run(FileAction::kPut, "link", "new").exit_code, 0);
  EXPECT_EQ(mode_of("link"), 0600u);
  EXPECT_EQ(content_of("private"), "old");
  std::filesystem::create_symlink("/proc/version", folder_.path() / "outside");
  EXPECT_EQ(run(FileAction::kPut, "outside", "new").exit_code, 0);
  EXPECT_EQ(mode_of("outside") & 0200u, 0200u) << "the mode of a file elsewhere is not its own";
}

TEST_F(FileScript, ANewFileAndANewFolderFollowTheUmaskOfTheUser) {
  const End end = run(FileAction::kPut, "a/b", "new");
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.output, "x");
  EXPECT_EQ(mode_of("a/b"), 0640u);
  EXPECT_EQ(mode_of("a"), 0750u);
  EXPECT_EQ(run(FileAction::kPut, "empty").exit_code, 0);
  EXPECT_EQ(mode_of("empty"), 0640u);
}

TEST_F(FileScript, AnAttemptRemovesWhatTheOneBeforeItLeft) {
  folder_.write(".millrace-put-exec-1-1", "half");
  folder_.write(".millrace-put-exec-10-1", "of another execution");
  EXPECT_EQ(run(FileAction::kPut, "file", "new", 2).exit_code, 0);
  EXPECT_EQ(content_of("file"), "new");
  EXPECT_EQ(entries(), 2u);
  EXPECT_EQ(content_of(".millrace-put-exec-10-1"), "of another execution");
}

TEST_F(FileScript, BytesThatDoNotArriveAreNoFullDisk) {
  make("file", 0600);
  EXPECT_EQ(run(FileAction::kPut, "file", "half", 1, 8).exit_code, exit_of(schemas::FileExit::kCutOff));
  EXPECT_EQ(content_of("file"), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileScript, ALaterAttemptMayFindTheFileDeleted) {
  make("file", 0600);
  EXPECT_EQ(run(FileAction::kDelete, "file").exit_code, 0);
  EXPECT_EQ(run(FileAction::kDelete, "file", {}, 2).exit_code, 0);
  EXPECT_EQ(run(FileAction::kDelete, "file", {}, 1).exit_code, exit_of(schemas::FileExit::kAbsent));
  EXPECT_EQ(run(FileAction::kGet, "file", {}, 2).exit_code, exit_of(schemas::FileExit::kAbsent));
}

}  // namespace
}  // namespace millrace::workers
