#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/layout/grids.h"
#include "ai/engines/ocr/pages.h"

struct Pix;

namespace millrace::engines::host {

struct PixRelease {
  void operator()(Pix* pix) const;
};
// Owner of one leptonica picture; empty when leptonica refused.
using Picture = std::unique_ptr<Pix, PixRelease>;

int width(const Picture& picture);
int height(const Picture& picture);
int resolution(const Picture& picture);  // dots per inch, as its file said

// Around each piece of ink, those of its pixels that touch at a corner belonging together. `binary`: 1 bit.
std::vector<Box> pieces_of(Pix* binary);

// The part of a picture within a box of its own pixels. Empty: there is none, or no memory.
Picture clipped(Pix* picture, const Box& box);

// The pixel a place on a page falls into; a document may say that a word lies anywhere, or nowhere.
int pixel_at(float place);

// The size of one raw PGM or PPM in a stream and where its pixels begin.
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
// nullopt: `data` does not begin with a whole P5 or P6 head of 8 bits.
std::optional<NetpbmHead> netpbm_head(std::string_view data);
// 8-bit gray or 32-bit colour. `pixels` holds at least head.bytes().
Picture picture_of(const NetpbmHead& head, std::string_view pixels);

// A table that is drawn on a page, taken out of it: a recogniser would read its lines as letters, and what
// stands in one cell together with what is beside it.
struct DrawnTable {
  // What is at a place of `apart` was moved there by so much.
  struct Piece {
    Box box;
    float across = 0, down = 0;
  };
  Grid grid;
  Picture apart;  // the cells, set apart
  std::vector<Piece> pieces;
};

constexpr int kSideMax = 7200;  // pixels: A4 at 600 dpi; more is halved before it is prepared

// What recognition needs of a page: upright, gray, letters of the size that the recogniser likes, paper
// white.
struct Prepared {
  Picture gray;           // without the tables that are drawn on it
  double scale = 1;       // of `gray` to the picture that was given, turned upright
  int quarter_turns = 0;  // clockwise, to make it upright
  int width = 0;          // of the picture that was given, turned upright
  int height = 0;
  bool blank = false;      // nothing that could be letters
  bool noise = false;      // so many specks that no letters can be told from them in any bearable time
  float letter_px = 0;     // median height of components before scaling
  int letters = 0;         // how many components could be letters
  std::vector<Box> marks;  // small solid dots that may be bullets, in pixels of the picture turned upright
  std::vector<Box> letter_boxes;   // components as large as letters, in the same pixels
  std::vector<DrawnTable> tables;  // in pixels of `gray`; marks and letters are of what is left
};
// `quarter_turns`: how to turn it; without, leptonica's guess from ascenders and descenders.
Prepared prepare(const Picture& gray, std::optional<int> quarter_turns = std::nullopt);

Picture to_gray(const Picture& picture);
// What is transparent gets a paper that the ink stands out from: black under ink that is all bright, white
// under any other. Empty: no memory.
Picture flattened(Picture picture);
Picture turned(const Picture& picture, int quarter_turns);

// The bytes of a JPEG file, scaled down to `side` pixels on its long side where it is larger; empty when it
// cannot be encoded.
std::string small_jpeg(const Picture& picture, int side);
// A piece as data:image/jpeg;base64,…; empty when it cannot be encoded.
std::string jpeg_data_uri(const Picture& picture, int x0, int y0, int x1, int y1);

}  // namespace millrace::engines::host
