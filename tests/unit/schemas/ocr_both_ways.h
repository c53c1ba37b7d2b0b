#pragma once
#include <string>

#include <gtest/gtest.h>

#include "schemas/media/ocr_request.h"

namespace millrace::schemas::testing {

inline void expect_same(const OcrRequest& tree, const OcrRequest& read, const std::string& body) {
  EXPECT_EQ(pack(tree.spec), pack(read.spec)) << body;
  EXPECT_EQ(tree.base64, read.base64) << body;
  EXPECT_EQ(tree.is_data_uri, read.is_data_uri) << body;
  EXPECT_EQ(tree.deferred, read.deferred) << body;
  EXPECT_EQ(tree.dropped, read.dropped) << body;
}

inline void expect_same(const Refusal& tree, const Refusal& read, const std::string& body) {
  EXPECT_EQ(tree.error.code, read.error.code) << body;
  EXPECT_EQ(tree.error.message, read.error.message) << body;
  EXPECT_EQ(tree.error.param, read.error.param) << body;
  EXPECT_EQ(tree.problems.size(), read.problems.size()) << body;
}

// Calls parse_ocr_request and read_ocr_request. Both results must be the same, including all texts.
inline tl::expected<OcrRequest, Refusal> parse_ocr_both_ways(const std::string& sent,
                                                             const IsProviderModel& has_provider = {}) {
  std::string body = sent, for_quick = sent;
  const auto read = read_ocr_request(for_quick, has_provider);
  auto tree = parse_ocr_request(body, has_provider);
  EXPECT_EQ(tree.has_value(), read.has_value()) << sent;
  if (tree && read) expect_same(*tree, *read, sent);
  if (!tree && !read) expect_same(tree.error(), read.error(), sent);
  if (tree) tree->base64 = {};  // its body is destroyed
  return tree;
}

}  // namespace millrace::schemas::testing
