#include "storage/workers/workers.h"
#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

using Kinds = std::vector<schemas::Kind>;

TEST(ServedKinds, AreThoseThatALiveWorkerHasSlotsFor) {
  JobStore s;
  EXPECT_EQ(served_kinds(s.store()).value(), Kinds{});
  s.beat({}, 0, 0);
  EXPECT_EQ(served_kinds(s.store()).value(), Kinds{}) << "a worker without slots serves no kind";
  s.beat({}, 4, 4);
  EXPECT_EQ(served_kinds(s.store()).value(), Kinds{schemas::Kind::kOcr})
      << "a busy worker still serves its kind";
}

TEST(ServedKinds, AWorkerWithoutHeartbeatsServesNothing) {
  JobStore s;
  s.beat({});
  s.clock.advance(19s);
  EXPECT_EQ(served_kinds(s.store()).value().size(), 1u);
  s.clock.advance(2s);
  EXPECT_EQ(served_kinds(s.store()).value(), Kinds{});
  s.beat({});
  EXPECT_EQ(served_kinds(s.store()).value().size(), 1u);
}

TEST(ServedKinds, AWorkerThatDrainsServesNothing) {
  JobStore s;
  s.beat({});
  EXPECT_TRUE(await<bool>([&](auto done) { WorkerDrains(s.store()).drain("w-1", done); }).value());
  EXPECT_EQ(served_kinds(s.store()).value(), Kinds{});
}

}  // namespace
}  // namespace millrace::storage::testing
