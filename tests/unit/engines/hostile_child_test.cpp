#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>

#include "ai/engines/speech/speaker.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"
#include "tests/unit/engines/ocr_reading.h"
#include "tests/unit/engines/transcription_fixture.h"

namespace millrace::engines {
namespace {

using base::Code;
using std::chrono::milliseconds;
using testing::OcrCall;
using testing::OcrEngineTest;

constexpr milliseconds kNever = std::chrono::hours(1);
constexpr std::string_view kSilent = "#!/bin/sh\nexec sleep 3600\n";
// The frames of {"ev":"begin","page":0} and of one byte of sound.
constexpr std::string_view kBeginsNowAndThen = R"(#!/bin/sh
while :; do printf '\027\0\0\0{"ev":"begin","page":0}' >&3; sleep 0.4; done
)";
constexpr std::string_view kBeginsAllTheTime = R"(#!/bin/sh
while :; do printf '\027\0\0\0{"ev":"begin","page":0}' >&3; done
)";
constexpr std::string_view kSoundsAllTheTime = R"(#!/bin/sh
while :; do printf '\002\0\0\0\001x' >&3; done
)";

// Reads until the request to inspect a document arrives.
const std::string kReads = R"(#!/bin/sh
perl -e 'sysread(STDIN, $all, 4096, length($all)) || exit until $all =~ /inspect/' <&3
)";
const std::string kKilledAtWork = kReads + "kill -KILL $$\n";
const std::string kHitsItsCpuBound = kReads + "kill -XCPU $$\n";

// Overwrites the first byte of each document that it gets, and reports whether that failed: as two pages.
constexpr std::string_view kWritesToTheDocument = R"(#!/usr/bin/python3 -IS
import json, socket
peer = socket.socket(fileno=3)
pages = 0
while True:
    received, descriptors, _, _ = socket.recv_fds(peer, 65536, 8)
    if not received:
        break
    for descriptor in descriptors:
        try:
            with open(f"/proc/self/fd/{descriptor}", "r+b", buffering=0) as document:
                document.write(b"X")
            pages = 1
        except OSError:
            pages = 2
    if b"inspect" in received:
        event = json.dumps({"ev": "info", "pages": pages}).encode()
        peer.sendall(len(event).to_bytes(4, "little") + event)
)";

// Compromised children: a script replaces millrace-engine.
class HostileChildTest : public OcrEngineTest {
 protected:
  void make_of(std::string_view script, milliseconds page_wall = milliseconds(100)) {
    const auto program = folder_.write("engine", script);
    std::filesystem::permissions(program, std::filesystem::perms(0755));
    EnginePool::Options options = testing::engine_options();
    options.engine_path = program;
    options.children = 1;
    options.in_background = false;  // on a busy machine, one in the background takes seconds to be killed
    options.limits.page_cpu = milliseconds(100);
    options.limits.page_wall = page_wall;
    options.limits.piece_wall = page_wall;
    options.limits.speech_wall = milliseconds(400);
    options.limits.request_wall = milliseconds(200);
    options.limits.child_grace = milliseconds(100);
    options.limits.crash_pause = crash_pause_;
    make(options, process::Confinement::kReduced);
  }
  EngineResult asked_for(std::vector<int> pages, OcrCall& call) {
    auto document = testing::document_of(support::PdfMaker().text_page(testing::kReportLines).bytes());
    EXPECT_TRUE(document);
    EXPECT_TRUE(engine_->recognise(*document, std::move(pages), {}, call.on_page(), call.on_end()));
    return call.wait_end();
  }

  base::Result<EngineCallHandle> look(OcrCall& call) {
    auto document = testing::document_of(support::PdfMaker().text_page(testing::kReportLines).bytes());
    EXPECT_TRUE(document);
    return engine_->inspect(*document, call.on_info());
  }
  base::Result<DocumentInfo> looked_at() {
    OcrCall call;
    EXPECT_TRUE(look(call));
    EXPECT_TRUE(call.wait([&] { return call.info.has_value(); }));
    return *call.info;
  }
  // The first two children are killed while they work. The third reports that the document has two pages.
  std::string two_are_killed() {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0777));
    const std::string first = "mkdir " + folder_.str() + "/first 2>/dev/null";
    const std::string second = "mkdir " + folder_.str() + "/second 2>/dev/null";
    return kReads + "if " + first + " || " + second + "; then kill -KILL $$; fi\n" +
           R"(printf '\027\0\0\0{"ev":"info","pages":2}' >&3; exec cat <&3 >/dev/null)" + "\n";
  }

  support::TempDir folder_;
  milliseconds crash_pause_{10};
};

TEST_F(HostileChildTest, AClockThatRunsOutIsThePiecesFaultButNotThatOfAReference) {
  make_of(kSilent);
  Transcriber transcriber(*pool_);
  const auto recording = testing::recording_of("RIFF" + std::string(4, '\1') + "WAVEfmt ");
  ASSERT_TRUE(recording);
  const auto error_of = [&](SpeakerTask task) {
    testing::TranscriptionRun run;
    EXPECT_TRUE(transcriber.transcribe(*recording, {nullptr, {.speakers = task}}, {{0, 0, 1'000}},
                                       run.on_piece(), run.on_end()));
    EXPECT_EQ(run.wait_end().kind, EngineResult::Kind::kDone);
    return run.pieces.at(0).error.value_or(base::Error());
  };
  EXPECT_EQ(error_of(SpeakerTask::kTellApart).code, base::Code::kPieceTimeout);
  const base::Error busy = error_of(SpeakerTask::kOneVoice);
  EXPECT_EQ(busy.code, base::Code::kOverloaded);
  EXPECT_GT(busy.retry_after.count(), 0);
}

TEST_F(HostileChildTest, AChildThatNeitherReadsNorWritesIsKilledPageByPage) {
  make_of(kSilent, milliseconds(500));  // the whole call has 7 s, and a third of it is used
  OcrCall call;
  EXPECT_EQ(asked_for({0, 1, 2}, call).kind, EngineResult::Kind::kDone);
  ASSERT_EQ(call.pages.size(), 3U);
  for (const auto& [index, page] : call.pages) {
    ASSERT_TRUE(page.error);
    EXPECT_EQ(page.error->code, Code::kPageTimeout);
  }
  EXPECT_EQ(pool_->counts().children_crashed, 3U);
}

TEST_F(HostileChildTest, AnInputThatCannotBeReadIsACountedFailure) {
  make_of(kSilent);
  const std::string bytes = support::PdfMaker().text_page(testing::kReportLines).bytes();
  const auto path = folder_.write("input.pdf", bytes);
  auto document = Document::from(base::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), "tenant");
  ASSERT_TRUE(document);
  std::filesystem::resize_file(path, bytes.size() / 2);
  OcrCall call;
  ASSERT_TRUE(engine_->recognise(*document, {0}, {}, call.on_page(), call.on_end()));
  const EngineResult end = call.wait_end();
  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->code, Code::kInternal) << "unlike kOverloaded, it uses up an attempt";
  EXPECT_NE(end.error->message.find("the input cannot be read: the file ends after"), std::string::npos)
      << end.error->message;
}

TEST_F(HostileChildTest, ARequestThatIsNotReadIsNotWaitedFor) {
  make_of(kSilent);
  OcrCall call;
  constexpr int kMoreThanTheSocketHolds = 200'000;
  EXPECT_EQ(asked_for(first_pages(kMoreThanTheSocketHolds), call).kind, EngineResult::Kind::kCrashed);
  EXPECT_TRUE(call.pages.empty());
  EXPECT_EQ(pool_->counts().children_started, 2U)
      << "a child that does not read its request does not blame a page";
}

TEST_F(HostileChildTest, AChildThatSendsOccasionallyIsBoundedByTheCallsTimeLimit) {
  make_of(kBeginsNowAndThen, milliseconds(1'000));
  OcrCall call;
  EXPECT_EQ(asked_for({0}, call).kind, EngineResult::Kind::kDone);
  ASSERT_TRUE(call.pages.contains(0));
  EXPECT_EQ(call.pages.at(0).error->code, Code::kPageTimeout);
}

TEST_F(HostileChildTest, AChildThatSendsEventsEndlesslyCountsAsCrashed) {
  make_of(kBeginsAllTheTime, kNever);
  OcrCall call;
  const EngineResult end = asked_for({0, 1}, call);
  EXPECT_EQ(end.kind, EngineResult::Kind::kCrashed);
  EXPECT_EQ(end.page, 0);
  EXPECT_TRUE(call.pages.empty());
}

TEST_F(HostileChildTest, ADocumentIsNotBlamedForTwoChildrenThatAreKilledWhileItIsOpened) {
  make_of(two_are_killed(), kNever);
  const auto info = looked_at();
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->pages, 2);
  EXPECT_EQ(pool_->counts().children_crashed, 2U);
  EXPECT_EQ(pool_->counts().children_started, 3U);
}

TEST_F(HostileChildTest, ADocumentAtWhichThreeChildrenEndIsDamagedAndCostsNoMore) {
  make_of(kKilledAtWork, kNever);
  const auto info = looked_at();
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().code, Code::kDocumentDamaged);
  EXPECT_NE(info.error().message.find("three times"), std::string::npos) << info.error().message;
  EXPECT_EQ(pool_->counts().children_started, 3U);
  EXPECT_EQ(pool_->counts().children_crashed, 3U);
}

TEST_F(HostileChildTest, ADocumentThatUsesUpItsChildsProcessorTimeIsABombAtOnce) {
  make_of(kHitsItsCpuBound, kNever);
  const auto info = looked_at();
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().code, Code::kDocumentBomb);
  EXPECT_EQ(pool_->counts().children_started, 1U);
}

TEST_F(HostileChildTest, AChildCannotChangeAStoredDocumentOrTheCopyThatItGets) {
  make_of(kWritesToTheDocument, kNever);
  const std::string pdf = support::PdfMaker().text_page(testing::kReportLines).bytes();
  const auto stored = folder_.write("document.pdf", pdf);
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0777));
  std::filesystem::permissions(stored,
                               std::filesystem::perms(0666));  // as if the child ran as the gateway's user
  auto document = Document::from(base::Fd(::open(stored.c_str(), O_RDONLY | O_CLOEXEC)), "acme");
  ASSERT_TRUE(document);
  OcrCall call;
  ASSERT_TRUE(engine_->inspect(*document, call.on_info()));
  ASSERT_TRUE(call.wait([&] { return call.info.has_value(); }));
  ASSERT_TRUE(*call.info) << call.info->error().message;
  EXPECT_EQ((*call.info)->pages, 2) << "the child could write";
  std::ifstream left(stored, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(left), {}), pdf);
}

TEST_F(HostileChildTest, ThePauseAfterAKilledChildEndsWhenTheCallIsCancelled) {
  crash_pause_ = kNever;
  make_of(kKilledAtWork, kNever);
  OcrCall call;
  const auto ticket = look(call);
  ASSERT_TRUE(ticket);
  ASSERT_TRUE(
      support::wait_until([this] { return pool_->counts().children_crashed > 0; }, testing::kCallTimeLimit));
  ticket->cancel();
  ASSERT_TRUE(call.wait([&] { return call.info.has_value(); }));
  EXPECT_EQ(call.info->error().code, Code::kJobCancelled);
  EXPECT_EQ(pool_->counts().children_started, 1U);
}

TEST_F(HostileChildTest, ASpeechWithoutEndIsEnded) {
  make_of(kSoundsAllTheTime);
  schemas::SpeechRequest request;
  request.input = "Hello.";
  request.voice = "slt";
  OcrCall call;
  ASSERT_TRUE(Speaker(*pool_).speak(
      request, [](const std::string& /*sound*/) {}, call.on_end()));
  const EngineResult end = call.wait_end();
  ASSERT_EQ(end.kind, EngineResult::Kind::kFailed);
  EXPECT_EQ(end.error->code, Code::kOverloaded);
}

}  // namespace
}  // namespace millrace::engines
