#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/headers.h"

namespace millrace::api::cursors_test {
namespace {

TEST(Cursors, ACursorIsReadAsItWasWritten) {
  const base::Uuid id = base::Uuid::make(base::WallTime(std::chrono::milliseconds(1'700'000'000'000)));
  EXPECT_EQ(id, job_cursor_of(job_cursor(id)));
  for (const std::int64_t version :
       {std::int64_t{0}, std::int64_t{42}, std::numeric_limits<std::int64_t>::max()})
    EXPECT_EQ(version, event_cursor_of(event_cursor(version)));
}

TEST(Cursors, ACursorHasOneForm) {
  for (const char* text :
       {"", "e1_", "e1_-0", "e1_-1", "e1_007", "e1_7 ", "e1_+7", "e1_9223372036854775808", "j1_7"})
    EXPECT_EQ(std::nullopt, event_cursor_of(text)) << text;
  const std::string id = "0192f5a0-0000-7000-8000-00000000000a";
  EXPECT_TRUE(job_cursor_of("j1_" + id));
  for (const auto& text :
       std::vector<std::string>{id, "J1_" + id, "j1_0192F5A0-0000-7000-8000-00000000000A", "j1_" + id + " "})
    EXPECT_FALSE(job_cursor_of(text)) << text;
}

}  // namespace
}  // namespace millrace::api::cursors_test
