#include "platform/base/yaml_fault.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

namespace millrace::base {
namespace {

// "LINE: TEXT" as the parser's exception gives it.
std::string fault_of(const std::string& text) {
  try {
    YAML::Load(text);
  } catch (const YAML::Exception& problem) {
    const YamlFault fault = yaml_fault(problem.msg, problem.mark.line + 1, text);
    return std::to_string(fault.line) + ": " + fault.text;
  }
  return "no fault";
}

TEST(YamlFault, ABracketWithoutItsPartnerIsNamedWithItsOwnLine) {
  EXPECT_EQ(fault_of("models: [\n  a,\n  b\nlisten: x\n"), "1: the list that begins in line 1 has no `]`");
  EXPECT_EQ(fault_of("a: [x]\n# [ a comment\nb: '['\nc: { d: [1]\n"),
            "4: the map that begins in line 4 has no `}`");
}

TEST(YamlFault, OtherFaultsAreInPlainWords) {
  EXPECT_EQ(
      fault_of("a: b: c\n"),
      "1: a `: ` that begins no value: check the indentation, or put a value that contains `: ` in quotes");
  EXPECT_EQ(fault_of("a: b\n c: d\n").substr(0, 14), "2: a `: ` that");
  EXPECT_NE(fault_of("a: @b\n").find("a character that cannot begin a value"), std::string::npos);
}

TEST(YamlFault, WhatHasNoWordsStaysAsItIs) {
  const YamlFault fault = yaml_fault("something new", 7, "a: b");
  EXPECT_EQ(fault.text, "something new");
  EXPECT_EQ(fault.line, 7);
  EXPECT_EQ(yaml_fault("end of sequence flow not found", 3, "").text, "end of sequence flow not found");
}

}  // namespace
}  // namespace millrace::base
