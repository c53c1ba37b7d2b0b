#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>

#include "platform/base/fd.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"
#include "tests/unit/engines/ocr_reading.h"

namespace millrace::engines {
namespace {

using testing::OcrCall;
using testing::OcrEngineTest;

// Replaces millrace-engine: writes its process id and the size of each document that it gets to `seen`, and
// answers when it can lock the file `go`.
const std::string kWritesDown = R"(#!/usr/bin/python3 -IS
import fcntl, json, os, socket
peer = socket.socket(fileno=3)
while True:
    received, descriptors, _, _ = socket.recv_fds(peer, 65536, 8)
    if not received:
        break
    for descriptor in descriptors:
        with open("FOLDER/seen", "a") as seen:
            seen.write(f"{os.getpid()} {os.fstat(descriptor).st_size}\n")
        os.close(descriptor)
    if b"inspect" in received:
        with open("FOLDER/go") as go:
            fcntl.flock(go, fcntl.LOCK_SH)
        event = json.dumps({"ev": "info", "pages": 1}).encode()
        peer.sendall(len(event).to_bytes(4, "little") + event)
)";

class EngineOwnersTest : public OcrEngineTest {
 protected:
  void make_with(unsigned children) {
    std::string script = kWritesDown;
    for (std::size_t at = 0; (at = script.find("FOLDER", at)) != std::string::npos;) {
      script.replace(at, 6, folder_.str());
    }
    const auto program = folder_.write("engine", script);
    std::filesystem::permissions(program, std::filesystem::perms(0755));
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0777));
    EnginePool::Options options = testing::engine_options();
    options.engine_path = program;
    options.children = children;
    folder_.write("go", "");
    held_ = base::Fd(::open((folder_.path() / "go").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::flock(held_.get(), LOCK_EX), 0);
    make(options, process::Confinement::kReduced);
  }
  // Documents of different owners have different sizes.
  void submit(const std::string& owner) {
    const std::string pdf = "%PDF-1.4\n" + std::string(owner.front() - 'a', ' ');
    auto document = testing::document_of(pdf, owner);
    ASSERT_TRUE(document);
    auto& call = calls_.emplace_back(std::make_unique<OcrCall>());
    const auto note = [this, owner, ended = call->on_info()](base::Result<DocumentInfo> info) {
      {
        const std::lock_guard lock(mutex_);
        order_ += owner;
      }
      ended(std::move(info));
    };
    ASSERT_TRUE(engine_->inspect(*document, note));
  }
  // Lets the children answer. Returns the owners in the order in which their calls ended.
  std::string run() {
    EXPECT_EQ(::flock(held_.get(), LOCK_UN), 0);
    for (const auto& call : calls_) {
      EXPECT_TRUE(call->wait([&] { return call->info.has_value(); }));
      EXPECT_TRUE(*call->info);
    }
    calls_.clear();
    return order_;
  }
  // The sizes of the documents that each child got.
  std::map<int, std::set<int>> seen() const {
    std::map<int, std::set<int>> sizes;
    std::ifstream file(folder_.path() / "seen");
    for (int pid = 0, size = 0; file >> pid >> size;) sizes[pid].insert(size);
    return sizes;
  }

  support::TempDir folder_;
  base::Fd held_;  // the file `go`, locked until `run`
  std::vector<std::unique_ptr<OcrCall>> calls_;
  std::mutex mutex_;
  std::string order_;
};

TEST_F(EngineOwnersTest, NoChildGetsDocumentsOfTwoOwners) {
  make_with(2);
  for (const char* owner : {"a", "b", "c", "a", "b", "c"}) submit(owner);
  run();
  const auto sizes = seen();
  EXPECT_GE(sizes.size(), 3U);
  for (const auto& [pid, each] : sizes) EXPECT_EQ(each.size(), 1U) << "child " << pid;
  EXPECT_EQ(pool_->counts().children_crashed, 0U);
}

// While an object lives, the process can open no more files.
class NoFreeDescriptors {
 public:
  NoFreeDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoFreeDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(EngineOwnersTest, AnInputForWhichNoMemoryFileIsLeftIsNotToBlame) {
  make_with(1);
  const auto file = folder_.write("document.pdf", "%PDF-1.4\n");
  const auto document = Document::from(base::Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC)), "a");
  ASSERT_TRUE(document);
  OcrCall call;
  submit("a");
  ASSERT_TRUE(support::wait_until([&] { return !seen().empty(); }, testing::kCallTimeLimit));
  ASSERT_TRUE(engine_->inspect(*document, call.on_info()));  // waits for the child
  {
    const NoFreeDescriptors none;
    run();
    ASSERT_TRUE(call.wait([&] { return call.info.has_value(); }));
  }
  ASSERT_FALSE(*call.info);
  EXPECT_EQ(call.info->error().code, base::Code::kOverloaded) << "the job waits without using up an attempt";
  EXPECT_EQ(pool_->counts().children_crashed, 0U);
  submit("a");
  run();
  EXPECT_EQ(seen().size(), 1U);
}

TEST_F(EngineOwnersTest, AChildIsReusedByItsOwner) {
  make_with(1);
  for (int i = 0; i < 4; ++i) submit("a");
  run();
  EXPECT_EQ(pool_->counts().children_started, 1U);
}

TEST_F(EngineOwnersTest, ACallGoesToTheIdleChildOfItsOwner) {
  make_with(2);
  submit("a");
  submit("b");
  run();
  for (const char* owner : {"b", "a", "b"}) {
    submit(owner);
    run();
  }
  EXPECT_EQ(pool_->counts().children_started, 2U);
}

TEST_F(EngineOwnersTest, ACallOfAnotherOwnerWaitsForOneCallAtMost) {
  make_with(1);
  for (int i = 0; i < 10; ++i) submit("a");
  submit("b");
  EXPECT_EQ(run(), "abaaaaaaaaa");
}

}  // namespace
}  // namespace millrace::engines
