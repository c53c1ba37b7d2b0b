#include "ai/engines/host/page_tree.h"

#include <qpdf/QPDF.hh>

namespace millrace::engines::host {

bool holds_more_pages(std::string_view pdf, int count) {
  try {
    QPDF file;
    file.setSuppressWarnings(true);
    file.setAttemptRecovery(false);
    file.processMemoryFile("document", pdf.data(), pdf.size());
    return file.getAllPages().size() > static_cast<std::size_t>(count);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace millrace::engines::host
