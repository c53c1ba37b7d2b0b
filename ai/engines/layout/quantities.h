#pragma once
#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Makes the quantity and the price of an item of a receipt one word, so that no column is found between them:
// "2 x 1.15", "0.842 kg x 2.99/kg".
void join_quantities(PageText& page);

}  // namespace millrace::engines
