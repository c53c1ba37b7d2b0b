#include "app/cli/batch/batch_inputs.h"

#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cli/batch/ocr_command.h"
#include "app/cli/batch/resume_file.h"
#include "tests/support/temp_dir.h"

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNoInterrupt = 65534;
const InputKinds kDocuments{{".pdf", ".png", ".jpg", ".jpeg", ".webp"},
                            "PDF, PNG, JPEG or WebP",
                            ".md",
                            {".tiff"},
                            [](const std::string& head) { return head.starts_with("%PDF"); }};

class BatchFiles : public testing::Test {
 protected:
  fs::path file(const std::string& name) {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return path;
  }
  support::TempDir folder_;
  fs::path root_{folder_.path()};
};

TEST_F(BatchFiles, AFolderGivesItsDocumentsInOrderAndKeepsSubFolders) {
  file("in/b.PDF");
  file("in/a/c.jpeg");
  file("in/notes.txt");
  const auto inputs = collect_inputs({(root_ / "in").string()}, "out", kDocuments);
  ASSERT_TRUE(inputs);
  ASSERT_EQ(2u, inputs->documents.size());
  EXPECT_EQ("a/c.jpeg", inputs->documents[0].relative);
  EXPECT_EQ("b.PDF", inputs->documents[1].relative);
  const auto with_slash = collect_inputs({(root_ / "in").string() + "/"}, "out", kDocuments);
  ASSERT_TRUE(with_slash);
  EXPECT_EQ("a/c.jpeg", with_slash->documents[0].relative);
}

TEST_F(BatchFiles, FilesOfAFolderThatAreOfNoKindAreCountedByTheirEnding) {
  for (const char* name : {"in/a.pdf", "in/fax.TIFF", "in/b/old.tiff", "in/README", "in/.hidden.txt"})
    file(name);
  const auto inputs = collect_inputs({(root_ / "in").string()}, "out", kDocuments);
  ASSERT_TRUE(inputs);
  EXPECT_EQ((std::map<std::string, int>{{"", 1}, {".tiff", 2}}), inputs->left_out);
  EXPECT_TRUE(inputs->misses_inputs);
}

TEST_F(BatchFiles, OnlyWhatLooksLikeADocumentIsMissed) {
  for (const char* name : {"in/a.pdf", "in/notes.txt", "in/README", "in/Thumbs.db", "in/.hidden.tiff"})
    file(name);
  EXPECT_FALSE(collect_inputs({(root_ / "in").string()}, "out", kDocuments)->misses_inputs);
  std::ofstream(file("in/scan")) << "%PDF-1.7";
  EXPECT_TRUE(collect_inputs({(root_ / "in").string()}, "out", kDocuments)->misses_inputs)
      << "without an ending";
}

TEST_F(BatchFiles, AFolderThatCannotBeReadIsNamedAndTheOthersAreTaken) {
  file("in/a.pdf");
  file("in/locked/b.pdf");
  file("in/open/c.pdf");
  fs::permissions(root_, fs::perms(0755));
  fs::permissions(root_ / "in/locked", fs::perms(0));
  const bool is_root = ::geteuid() == 0;  // file modes do not restrict root: this thread acts as another user
  if (is_root) ::setfsuid(kNoInterrupt);
  const auto inputs = collect_inputs({(root_ / "in").string()}, "out", kDocuments);
  const auto alone = collect_inputs({(root_ / "in/locked").string()}, "out", kDocuments);
  if (is_root) ::setfsuid(0);
  fs::permissions(root_ / "in/locked", fs::perms(0755));
  ASSERT_TRUE(inputs);
  ASSERT_EQ(2u, inputs->documents.size());
  EXPECT_EQ("open/c.pdf", inputs->documents[1].relative);
  ASSERT_EQ(1u, inputs->skipped.size());
  EXPECT_EQ((root_ / "in/locked").string() + ": Permission denied", inputs->skipped[0]);
  ASSERT_FALSE(alone);
  EXPECT_EQ((root_ / "in/locked").string() + ": Permission denied", alone.error().message);
}

TEST_F(BatchFiles, WhatAFolderHasBesideFilesAndFoldersIsNamedWithTheReason) {
  file("in/a.pdf");
  file("elsewhere/b.pdf");
  fs::create_symlink(root_ / "elsewhere/b.pdf", root_ / "in/link.pdf");
  fs::create_directory_symlink("../elsewhere", root_ / "in/folder");
  fs::create_symlink("nowhere", root_ / "in/gone.pdf");
  fs::create_symlink("loop.pdf", root_ / "in/loop.pdf");
  ASSERT_EQ(0, ::mkfifo((root_ / "in/pipe.pdf").c_str(), 0600));
  ASSERT_EQ(0, ::mkfifo((root_ / "in/pipe.log").c_str(), 0600));
  fs::create_symlink("nowhere", root_ / "in/.hidden.pdf");
  const auto inputs = collect_inputs({(root_ / "in").string()}, "out", kDocuments);
  ASSERT_TRUE(inputs);
  ASSERT_EQ(2u, inputs->documents.size());
  EXPECT_EQ("link.pdf", inputs->documents[1].relative);
  const std::string in = (root_ / "in/").string();
  EXPECT_EQ((std::vector<std::string>{
                in + "folder: a link to a folder is not followed; name the folder itself",
                in + "gone.pdf: a broken link", in + "loop.pdf: Too many levels of symbolic links",
                in + "pipe.pdf: neither a file nor a folder"}),
            inputs->skipped);
  EXPECT_EQ((std::map<std::string, int>{{".log", 1}}), inputs->left_out);
}

TEST_F(BatchFiles, AFolderThatIsNamedTwiceCountsOnce) {
  fs::create_directories(root_ / "empty");
  file("in/a.pdf");
  file("in/b.tiff");
  const std::string empty = root_ / "empty", in = root_ / "in";
  const auto nothing = collect_inputs({empty, empty + "/../empty"}, "out", kDocuments);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(empty + ": no PDF, PNG, JPEG or WebP in this folder", nothing.error().message);
  const auto inputs = collect_inputs({in, empty, empty, in}, "out", kDocuments);
  ASSERT_TRUE(inputs);
  EXPECT_EQ(1u, inputs->documents.size());
  EXPECT_EQ(1u, inputs->skipped.size());
  EXPECT_EQ((std::map<std::string, int>{{".tiff", 1}}), inputs->left_out);
}

TEST_F(BatchFiles, ADocumentIsReadWholeUpToTheLimitAndNotAtAllBeyondIt) {
  file("small.pdf");
  EXPECT_EQ("x", read_document(root_ / "small.pdf").value());
  file("large.pdf");
  fs::resize_file(root_ / "large.pdf", (50u << 20) + 1);  // sparse; reading all of it would be slow
  const auto large = read_document(root_ / "large.pdf");
  ASSERT_FALSE(large);
  EXPECT_EQ(base::Code::kDocumentTooLarge, large.error().code);
  const auto endless = read_document("/dev/zero");  // it has no size
  ASSERT_FALSE(endless);
  EXPECT_EQ(base::Code::kDocumentTooLarge, endless.error().code);
  const auto missing = read_document(root_ / "missing.pdf");
  ASSERT_FALSE(missing);
  EXPECT_EQ(base::Code::kNotFound, missing.error().code);
}

TEST_F(BatchFiles, HiddenFilesOfAFolderAreLeftOutAndNamedOnesAreTaken) {
  file("in/a.pdf");
  file("in/._a.pdf");
  file("in/.trash/b.pdf");
  const auto inputs = collect_inputs({(root_ / "in").string()}, "out", kDocuments);
  ASSERT_TRUE(inputs);
  ASSERT_EQ(1u, inputs->documents.size());
  EXPECT_EQ("a.pdf", inputs->documents[0].relative);
  const auto named =
      collect_inputs({(root_ / "in/._a.pdf").string(), (root_ / "in/.trash").string()}, "out", kDocuments);
  ASSERT_TRUE(named);
  EXPECT_EQ(2u, named->documents.size());
}

TEST_F(BatchFiles, StandardInputHasNoNameInAnOutputFolder) {
  const auto alone = collect_inputs({"-"}, "", kDocuments);
  ASSERT_TRUE(alone);
  EXPECT_EQ("/dev/stdin", alone->documents.at(0).file);
  EXPECT_FALSE(collect_inputs({"-"}, "out", kDocuments));
}

TEST_F(BatchFiles, APipeIsReadToItsEnd) {
  const fs::path pipe = root_ / "q.pdf";
  ASSERT_EQ(0, ::mkfifo(pipe.c_str(), 0600));
  std::jthread writer([&pipe] { std::ofstream(pipe) << "x"; });
  EXPECT_EQ("x", read_document(pipe).value());
}

TEST_F(BatchFiles, APipeWithoutAWriterIsGivenUpOnASignal) {
  const fs::path pipe = root_ / "q.pdf";
  ASSERT_EQ(0, ::mkfifo(pipe.c_str(), 0600));
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  pthread_kill(pthread_self(), SIGTERM);
  const auto read = read_document(pipe);
  const timespec at_once{};
  EXPECT_EQ(SIGTERM, ::sigtimedwait(&term, nullptr, &at_once)) << "the signal must stay pending";
  pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
  ASSERT_FALSE(read);
  EXPECT_EQ(base::Code::kNotFound, read.error().code);
}

TEST_F(BatchFiles, EachCommandTakesItsOwnKindsAndEndings) {
  file("in/talk.MP3");
  file("in/scan.pdf");
  const auto inputs = collect_inputs({(root_ / "in").string()}, "out", {{".mp3"}, "MP3", ".srt"});
  ASSERT_TRUE(inputs);
  ASSERT_EQ(1u, inputs->documents.size());
  EXPECT_EQ("talk.MP3", inputs->documents[0].relative);
}

TEST_F(BatchFiles, CommandsThatShareAFolderDoNotShareWhatTheyKnow) {
  auto ocr = ResumeFile::open(root_, "ocr");
  ASSERT_TRUE(ocr);
  const std::string key = ocr->entry("a", ".md", "v1").key;
  ASSERT_TRUE(ocr->save());
  auto other = ResumeFile::open(root_, "transcribe");
  ASSERT_TRUE(other);
  EXPECT_NE(key, other->entry("a", ".md", "v1").key);
  EXPECT_TRUE(other->entry("a", ".md", "v1").key.starts_with("transcribe-"));
}

TEST_F(BatchFiles, AMissingPathAndAFolderWithoutDocumentsAreErrorsThatNameThem) {
  fs::create_directories(root_ / "empty");
  const auto missing = collect_inputs({"/no/such/file.pdf"}, "out", kDocuments);
  ASSERT_FALSE(missing);
  EXPECT_NE(std::string::npos, missing.error().message.find("/no/such/file.pdf"));
  const auto empty = collect_inputs({(root_ / "empty").string()}, "out", kDocuments);
  ASSERT_FALSE(empty);
  EXPECT_EQ((root_ / "empty").string() + ": no PDF, PNG, JPEG or WebP in this folder", empty.error().message);
}

TEST_F(BatchFiles, AFolderWithoutDocumentsIsNamedAndTheOthersAreTaken) {
  fs::create_directories(root_ / "empty");
  file("in/a.pdf");
  const auto inputs =
      collect_inputs({(root_ / "empty").string(), (root_ / "in").string()}, "out", kDocuments);
  ASSERT_TRUE(inputs);
  ASSERT_EQ(1u, inputs->documents.size());
  EXPECT_EQ("a.pdf", inputs->documents[0].relative);
  ASSERT_EQ(1u, inputs->skipped.size());
  EXPECT_TRUE(inputs->skipped[0].starts_with((root_ / "empty").string() + ": no PDF")) << inputs->skipped[0];
}

TEST_F(BatchFiles, AKeyIsKeptUntilTheFileChanges) {
  auto resume = ResumeFile::open(root_, "ocr");
  ASSERT_TRUE(resume);
  const std::string key = resume->entry("a.pdf", ".md", "v1").key;
  ASSERT_TRUE(resume->save());
  auto again = ResumeFile::open(root_, "ocr");
  ASSERT_TRUE(again);
  EXPECT_EQ(key, again->entry("a.pdf", ".md", "v1").key);
  EXPECT_NE(key, again->entry("a.pdf", ".md", "v2").key);
}

TEST_F(BatchFiles, AStrangeResumeFileIsAnErrorAndNotOverwritten) {
  for (const char* text : {"", "x", "[]", R"({"inputs":5})", R"({"inputs":{"a.png":7}})",
                           R"({"version":4,"inputs":{"a.png":{"outputs":5}}})",
                           R"({"version":"4","inputs":{}})", R"({"inputs":{"a.png":{"forms":[]}}})"}) {
    std::ofstream(root_ / ".millrace-ocr.json") << text;
    const auto opened = ResumeFile::open(root_, "ocr");
    ASSERT_FALSE(opened) << text;
    EXPECT_NE(opened.error().message.find("is not a resume file"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace millrace::cli
