#include "schemas/jobs/job_start.h"

#include <gtest/gtest.h>

#include "schemas/json/json_body.h"

namespace millrace::schemas {
namespace {

using namespace std::chrono_literals;

struct Target {
  std::optional<JobStart> start;
};
constexpr std::array kTable{run_at_field<Target, &Target::start>(), delay_field<Target, &Target::start>()};

// The start that a body has; its first problem goes to `problem`.
std::optional<JobStart> read(std::string body, std::string* problem = nullptr) {
  const auto json = read_json(body);
  EXPECT_TRUE(json) << body;
  Target target;
  FieldReader reader("body", *json);
  reader.read(kTable, json->value, &target);
  if (problem && !reader.problems().empty()) *problem = reader.problems().front().msg;
  EXPECT_EQ(reader.problems().empty(), problem == nullptr) << body;
  return target.start;
}

std::string refusal(std::string body) {
  std::string problem;
  (void)read(std::move(body), &problem);
  return problem;
}

std::string refusal(const JobStart& start, base::WallTime now = base::wall_from(1'700'000'000'000)) {
  const auto checked = check_start(start, now, 24h);
  return checked ? "" : checked.error().param + ": " + checked.error().message;
}

TEST(JobStart, ATimeIsRfc3339OrUnixSeconds) {
  const JobStart eight = base::wall_from(1'738'310'400'000);
  for (const char* time : {R"("2025-01-31T08:00:00Z")", R"("2025-01-31T09:00:00+01:00")", "1738310400",
                           R"("1738310400")", R"(["1738310400"])"})
    EXPECT_EQ(read(std::string(R"({"run_at":)") + time + "}"), eight) << time;
}

TEST(JobStart, ADelayIsADurationOrSeconds) {
  for (const char* delay : {R"("15m")", R"("14m60s")", "900", R"("900")", R"(["15m"])"})
    EXPECT_EQ(read(std::string(R"({"delay":)") + delay + "}"), JobStart(std::chrono::milliseconds(15min)))
        << delay;
  EXPECT_EQ(read(R"({"delay":0})"), JobStart(0ms));
}

TEST(JobStart, NullIsAbsent) { EXPECT_EQ(read(R"({"run_at":null,"delay":null})"), std::nullopt); }

TEST(JobStart, AnythingElseIsRefused) {
  for (const char* time :
       {R"("soon")", R"("")", "-1", "1.5", "true", "{}", "[]", "1e30", "99999999999999999999",
        R"("99999999999999999999")", R"("2025-02-30T08:00:00Z")"}) {
    EXPECT_NE(refusal(std::string(R"({"run_at":)") + time + "}").find("RFC 3339"), std::string::npos) << time;
    EXPECT_NE(refusal(std::string(R"({"delay":)") + time + "}").find("15m"), std::string::npos) << time;
  }
  EXPECT_NE(refusal(R"({"delay":"106751991167d"})").find("15m"), std::string::npos) << "beyond the clock";
}

TEST(JobStart, OnlyOneOfThemIsTaken) {
  EXPECT_NE(refusal(R"({"run_at":1738310400,"delay":"1h"})").find("Only one of `run_at` and `delay`"),
            std::string::npos);
}

TEST(JobStart, ATimeMayHavePassedByTheGraceOnly) {
  const auto now = base::wall_from(1'700'000'000'000);
  EXPECT_EQ(refusal(JobStart(now - kRunAtGrace), now), "");
  EXPECT_EQ(refusal(JobStart(now - kRunAtGrace - 1ms), now).substr(0, 8), "run_at: ");
}

TEST(JobStart, TheBoundIsNamed) {
  const auto now = base::wall_from(1'700'000'000'000);
  EXPECT_EQ(refusal(JobStart(now + 24h), now), "");
  EXPECT_EQ(refusal(JobStart(now + 24h + 1ms), now),
            "run_at: `run_at` may be at most 1d (setting jobs.run_at_max) ahead");
  EXPECT_EQ(refusal(JobStart(std::chrono::milliseconds(24h))), "");
  EXPECT_EQ(refusal(JobStart(std::chrono::milliseconds(24h) + 1ms)),
            "delay: `delay` may be at most 1d (setting jobs.run_at_max)");
}

}  // namespace
}  // namespace millrace::schemas
