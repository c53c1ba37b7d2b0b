#include "platform/base/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::base::metrics_test {
namespace {

using testing::HasSubstr;

TEST(Metrics, TheSameNameAndLabelsAreTheSameSeries) {
  Metrics metrics;
  metrics.counter("millrace_accepts_total", "Accepts.", {{"kind", "ocr"}}).add();
  metrics.counter("millrace_accepts_total", "Accepts.", {{"kind", "ocr"}}).add(2);
  EXPECT_EQ(metrics.counter("millrace_accepts_total", "Accepts.", {{"kind", "ocr"}}).value(), 3);
  EXPECT_EQ(metrics.counter("millrace_accepts_total", "Accepts.", {{"kind", "chat"}}).value(), 0);
}

TEST(Metrics, AScrapeIsTheTextFormat) {
  Metrics metrics;
  metrics.counter("millrace_accepts_total", "Accepts.", {{"kind", "ocr"}}).add(3);
  metrics.gauge("millrace_slots", "Slots.").set(4);
  metrics.histogram("millrace_wait_seconds", "Waits.", {0.1, 1}).observe(0.5);
  const std::string text = metrics.scrape();
  EXPECT_THAT(text,
              HasSubstr("# HELP millrace_accepts_total Accepts.\n# TYPE millrace_accepts_total counter\n"));
  EXPECT_THAT(text, HasSubstr("millrace_accepts_total{kind=\"ocr\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("millrace_slots 4\n"));
  EXPECT_THAT(text, HasSubstr("millrace_wait_seconds_bucket{le=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("millrace_wait_seconds_count 1\n"));
}

TEST(Metrics, WhatIsLookedUpIsRefreshedBeforeEachScrape) {
  Metrics metrics;
  const Gauge gauge = metrics.gauge("millrace_store_bytes", "Store.");
  metrics.on_scrape([gauge] { gauge.add(10); });
  EXPECT_THAT(metrics.scrape(), HasSubstr("millrace_store_bytes 10\n"));
  EXPECT_THAT(metrics.scrape(), HasSubstr("millrace_store_bytes 20\n"));
  EXPECT_EQ(gauge.value(), 20);
}

TEST(Metrics, LatencyBoundsRiseFromHalfAMillisecondToAMinute) {
  const auto& bounds = latency_bounds();
  EXPECT_TRUE(std::is_sorted(bounds.begin(), bounds.end()));
  EXPECT_EQ(bounds.front(), 0.0005);
  EXPECT_EQ(bounds.back(), 60);
}

}  // namespace
}  // namespace millrace::base::metrics_test
