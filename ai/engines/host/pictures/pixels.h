#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/layout/check_boxes.h"
#include "ai/engines/layout/grids.h"
#include "ai/engines/layout/leaders.h"
#include "ai/engines/ocr/pages.h"

struct Pix;

namespace millrace::engines::host {

struct PixRelease {
  void operator()(Pix* pix) const;
};
// Owner of one leptonica picture; empty when leptonica failed.
using Picture = std::unique_ptr<Pix, PixRelease>;

int width(const Picture& picture);
int height(const Picture& picture);
int resolution(const Picture& picture);  // dots per inch, as given by its file

// Bounding boxes of the connected pieces of ink; pixels that touch at a corner are connected. `binary`: 1
// bit.
std::vector<Box> pieces_of(Pix* binary);

// The part of a picture within a box in its pixels. Empty: the box lies outside, or memory is short.
Picture clipped(Pix* picture, const Box& box);

// Makes a part of a gray picture white or black.
void fill_white(const Picture& gray, const Box& box);
void fill_black(const Picture& gray, const Box& box);

// The pixel of a position on a page. Safe for any float: a document may place a word anywhere, or at NaN.
int pixel_at(float place);

// Header of one raw PGM or PPM in a stream: its size, and where its pixels begin.
struct NetpbmHead {
  int channels = 1;
  int width = 0;
  int height = 0;
  std::size_t head_bytes = 0;
  std::size_t bytes() const {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(channels);
  }
};
// nullopt: `data` does not begin with a complete P5 or P6 header of 8 bits.
std::optional<NetpbmHead> netpbm_head(std::string_view data);
// 8-bit gray or 32-bit colour. `pixels` holds at least head.bytes().
Picture picture_of(const NetpbmHead& head, std::string_view pixels);

// A drawn table that was taken out of its page. Otherwise a recogniser would read its lines as letters and
// mix the text of neighbouring cells.
struct DrawnTable {
  // Content within `box` of `apart` was moved there by this offset.
  struct Piece {
    Box box;
    float across = 0, down = 0;
  };
  Grid grid;
  Picture apart;  // the cells, separated from each other
  std::vector<Piece> pieces;
};

// A field with a box for each character, taken out of its page.
struct Comb {
  Box box;       // all boxes
  Box ink;       // the characters
  Picture line;  // the characters as a line of text; empty: there are none
};

constexpr int kSideMax = 7200;  // pixels: A4 at 600 dpi; a larger picture is halved before it is prepared

// Input for recognition: upright, gray, letters of the size that suits the recogniser, white paper.
struct Prepared {
  Picture gray;           // without its drawn tables
  double scale = 1;       // of `gray` relative to the given picture turned upright
  int quarter_turns = 0;  // clockwise, to make it upright
  int width = 0;          // of the given picture, turned upright
  int height = 0;
  bool blank = false;      // nothing that could be letters
  bool noise = false;      // too many specks to separate letters from them in acceptable time
  float letter_px = 0;     // median height of components before scaling
  int letters = 0;         // how many components could be letters
  std::vector<Box> marks;  // small solid dots that may be bullets, in pixels of the picture turned upright
  // In the same pixels; `gray` lacks them.
  std::vector<CheckBox> check_boxes;  // hollow boxes and circles
  std::vector<Box> with_signs;        // those of them whose ink may be a letter or a number
  std::vector<Leader> leaders;        // rows of dots
  std::vector<Comb> combs;            // in pixels of `gray`
  std::vector<Box>
      erased;  // where these and the frames of fields were; of boxes with signs, their lines only
  std::vector<Box> letter_boxes;   // components as large as letters, in the same pixels
  std::vector<Box> tall_boxes;     // components that may be letters of much larger type
  std::vector<Box> pale;           // text that was pale, in pixels of `upright`
  std::vector<DrawnTable> tables;  // in pixels of `gray`; marks and letters do not include them
  std::vector<Box> rules;          // long lines across that belong to no table, in the same pixels
  Picture upright;           // the picture turned upright, before it was scaled to `gray` and made straight
  double upright_scale = 1;  // of `upright` relative to the given picture turned upright
  float angle = 0;           // degrees by which `gray` was rotated to be straight
  int paper = 255;           // brightness of the paper of `upright`
};
// `quarter_turns`: the rotation to apply; by default leptonica guesses it from ascenders and descenders.
Prepared prepare(const Picture& gray, std::optional<int> quarter_turns = std::nullopt);

Picture to_gray(const Picture& picture);
// Puts a contrasting background under transparent areas: black when all ink is bright, otherwise white.
// Empty: memory is short.
Picture flattened(Picture picture);
Picture turned(const Picture& picture, int quarter_turns);

// The bytes of a JPEG file, scaled down to `side` pixels on its long side if it is larger. Empty: encoding
// failed.
std::string small_jpeg(const Picture& picture, int side);
// A part of a picture as data:image/jpeg;base64,…; empty: encoding failed.
std::string jpeg_data_uri(const Picture& picture, int x0, int y0, int x1, int y1);

}  // namespace millrace::engines::host
