#include "ai/engines/host/page_tree.h"

#include <qpdf/qpdf-c.h>

namespace millrace::engines::host {

// By qpdf's C interface: its headers of C++ do not compile with clang in C++20.
bool holds_more_pages(std::string_view pdf, int count) {
  qpdf_data file = qpdf_init();
  qpdf_silence_errors(file);
  qpdf_set_suppress_warnings(file, QPDF_TRUE);
  qpdf_set_attempt_recovery(file, QPDF_FALSE);
  const QPDF_ERROR_CODE read = qpdf_read_memory(file, "document", pdf.data(), pdf.size(), nullptr);
  const int found = (read & QPDF_ERRORS) == 0 ? qpdf_get_num_pages(file) : -1;
  const bool sound = qpdf_has_error(file) == QPDF_FALSE;
  qpdf_cleanup(&file);
  return sound && found > count;
}

}  // namespace millrace::engines::host
