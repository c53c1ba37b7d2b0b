#include "app/components/disk_notes.h"

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "platform/base/clock.h"
#include "tests/support/wait_until.h"

namespace millrace::app {
namespace {

using support::wait_until;

// A store that keeps the notes' callbacks for the test to call.
class DiskNotesTest : public ::testing::Test {
 protected:
  DiskNotes::Write write() {
    return [this](const base::Uuid&, bool is_writable, std::function<void(bool)> done) {
      const std::lock_guard lock(mutex_);
      written_ += is_writable ? 'w' : 'r';
      callbacks_.push_back(std::move(done));
    };
  }
  std::string written() {
    const std::lock_guard lock(mutex_);
    return written_;
  }
  void end(std::size_t number, bool is_written) {
    std::function<void(bool)> done;
    {
      const std::lock_guard lock(mutex_);
      done = callbacks_.at(number);
    }
    done(is_written);
  }
  bool are_written(const std::string& notes) {
    return wait_until([&] { return written() == notes; });
  }

  std::mutex mutex_;
  std::string written_;  // "r": read-only, "w": writable
  std::vector<std::function<void(bool)>> callbacks_;
  net::Loop loop_{"test"};
  const base::Uuid machine_ = base::Uuid::make(base::SystemClock().wall());
  DiskNotes notes_{loop_, std::chrono::milliseconds(1), write()};
};

TEST_F(DiskNotesTest, ANoteThatWasRefusedIsWrittenAgainUntilItIsNoted) {
  notes_.note(machine_, false);
  ASSERT_EQ(written(), "r");
  end(0, false);
  ASSERT_TRUE(are_written("rr"));
  end(1, false);
  ASSERT_TRUE(are_written("rrr"));
  end(2, true);
  notes_.note(machine_, true);
  end(3, false);
  EXPECT_TRUE(are_written("rrrww")) << "of the noted one nothing is left";
}

TEST_F(DiskNotesTest, ARefusedNoteIsNotWrittenOverANewerOne) {
  notes_.note(machine_, false);
  notes_.note(machine_, true);
  end(0, false);
  ASSERT_TRUE(are_written("rw")) << "only the newer one again";
  end(1, false);
  EXPECT_TRUE(are_written("rww"));
}

TEST_F(DiskNotesTest, ANewerNoteIsWrittenAfterTheOneOnItsWay) {
  notes_.note(machine_, false);
  notes_.note(machine_, true);
  notes_.note(machine_, false);
  notes_.note(machine_, true);
  EXPECT_EQ(written(), "r");
  end(0, true);
  ASSERT_TRUE(are_written("rw"));
  end(1, true);
  notes_.note(machine_, false);
  EXPECT_EQ(written(), "rwr");
}

TEST_F(DiskNotesTest, EachMachineHasItsOwnNote) {
  notes_.note(machine_, false);
  notes_.note(base::Uuid(), true);
  end(1, true);
  end(0, false);
  EXPECT_TRUE(are_written("rwr"));
}

TEST(DiskNotes, NothingIsWrittenAfterTheirEnd) {
  net::Loop loop("test");
  std::function<void(bool)> done;
  {
    DiskNotes notes(loop, std::chrono::milliseconds(0),
                    [&](const base::Uuid&, bool, std::function<void(bool)> then) { done = std::move(then); });
    notes.note({}, false);
  }
  std::exchange(done, nullptr)(false);
  loop.stop();
  EXPECT_FALSE(done);
}

}  // namespace
}  // namespace millrace::app
