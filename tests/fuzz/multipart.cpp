#include "api/front/multipart.h"

#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

// multipart/form-data. The first line of the input is the Content-Type, the rest is the body.
namespace millrace::front {
namespace {

using fuzz::require;

struct Part {
  PartHead head;
  std::string content;
  bool ended = false;
  friend bool operator==(const Part&, const Part&) = default;
};

struct Form : FormEvents {
  base::Status part_begins(PartHead head) override {
    require(parts.empty() || parts.back().ended, "a part begins after the end of the part before");
    require(!head.name.empty() && head.name.size() <= kPartNameMax, "a part has a name within its bound");
    parts.push_back({std::move(head), {}, false});
    require(parts.size() <= kFormPartsMax, "parts within their bound");
    return {};
  }
  base::Status part_bytes(std::string_view bytes) override {
    require(!parts.empty() && !parts.back().ended, "bytes belong to a part");
    parts.back().content.append(bytes);
    return {};
  }
  base::Status part_ends() override {
    require(!parts.empty() && !parts.back().ended, "a part ends once");
    parts.back().ended = true;
    return {};
  }
  std::vector<Part> parts;
};

struct Read {
  std::vector<Part> parts;
  std::string error;
  friend bool operator==(const Read&, const Read&) = default;
};

Read read(std::string_view boundary, std::string_view first, std::string_view rest = {}) {
  Form form;
  FormReader reader(boundary, form);
  auto status = reader.feed(first);
  if (status) status = reader.feed(rest);
  if (status) status = reader.finish();
  if (status) require(form.parts.empty() || form.parts.back().ended, "a complete form has complete parts");
  return {std::move(form.parts), status ? std::string() : status.error().message};
}

void check_form(std::string_view input) {
  const auto boundary = form_boundary(fuzz::take_line(input));
  if (!boundary) return;
  require(!boundary->empty() && boundary->size() <= kBoundaryMax, "a boundary within its bound");
  const auto [first, rest] = fuzz::two_pieces(input);
  require(read(*boundary, input) == read(*boundary, first, rest), "a form is the same in pieces");
}

}  // namespace
}  // namespace millrace::front

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::front::check_form(millrace::fuzz::text_of(data, size));
  return 0;
}
