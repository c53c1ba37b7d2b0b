# Installation and the Debian package (`scripts/package`). The programs are in one folder, because millrace looks for
# the other two in its own folder; /usr/bin has a link. scripts/install installs the component `program` under a prefix;
# only the package contains the component `system`. Installing does not build: it uses the files in the build folder.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(packaging ${CMAKE_SOURCE_DIR}/packaging)
set(pages ${CMAKE_BINARY_DIR}/pages)

install(TARGETS millrace millrace-engine millrace-jail-init RUNTIME DESTINATION lib/millrace COMPONENT program)
install(CODE "
  file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin\")
  file(CREATE_LINK ../lib/millrace/millrace \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/millrace\" SYMBOLIC)
  execute_process(COMMAND \${CMAKE_COMMAND} -D PROGRAM=${CMAKE_BINARY_DIR}/millrace -D TO=${pages} -P ${packaging}/pages.cmake
                  COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
install(DIRECTORY ${pages}/man/ DESTINATION share/man/man1 COMPONENT program)
install(FILES ${pages}/bash/millrace DESTINATION share/bash-completion/completions COMPONENT program)
install(FILES ${pages}/zsh/_millrace DESTINATION share/zsh/vendor-completions COMPONENT program)
install(FILES ${pages}/fish/millrace.fish DESTINATION share/fish/vendor_completions.d COMPONENT program)
# The speech engine and its model, if scripts/fetch-speech has fetched them.
if(EXISTS ${MILLRACE_SPEECH}/version)
  install(DIRECTORY ${MILLRACE_SPEECH}/lib ${MILLRACE_SPEECH}/moonshine-en ${MILLRACE_SPEECH}/licences
          DESTINATION lib/millrace/speech COMPONENT program)
  install(FILES ${MILLRACE_SPEECH}/version DESTINATION lib/millrace/speech COMPONENT program)
endif()
# Dependencies in addition to the libraries: programs that are started, and data files.
set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "adduser, bubblewrap, ca-certificates, ffmpeg, openssh-client, pocketsphinx-en-us, poppler-data, poppler-utils"
    "tesseract-ocr-eng")
list(JOIN CPACK_DEBIAN_PACKAGE_DEPENDS ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
# For SSH into machines and disks of a fixed size, which both need root, and for store.url.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "e2fsprogs, libpq5, openssh-server")

# The bill of materials (SPDX) is made from the programs and the packages of this host.
install(CODE "
  execute_process(COMMAND python3 ${packaging}/sbom.py --version ${PROJECT_VERSION} --compiler ${CMAKE_CXX_COMPILER}
                          --headers asio.hpp,CLI/CLI.hpp,nlohmann/json.hpp,tl/expected.hpp,xxhash.h
                          --speech \"${MILLRACE_SPEECH}\"
                          --starts \"${CPACK_DEBIAN_PACKAGE_DEPENDS}, ${CPACK_DEBIAN_PACKAGE_SUGGESTS}\"
                          ${CMAKE_BINARY_DIR}/millrace ${CMAKE_BINARY_DIR}/millrace-engine
                          ${CMAKE_BINARY_DIR}/millrace-jail-init
                  OUTPUT_FILE ${CMAKE_BINARY_DIR}/sbom.spdx.json COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
install(FILES ${CMAKE_BINARY_DIR}/sbom.spdx.json DESTINATION share/doc/millrace COMPONENT program)
install(FILES ${packaging}/millrace.yaml DESTINATION /etc/millrace COMPONENT system)
install(FILES ${packaging}/millrace.service DESTINATION /lib/systemd/system COMPONENT system)
install(FILES ${packaging}/copyright DESTINATION share/doc/millrace COMPONENT system)
install(FILES ${CMAKE_SOURCE_DIR}/deploy/nginx.conf DESTINATION share/doc/millrace/examples COMPONENT system)
install(FILES ${packaging}/lintian-overrides DESTINATION share/lintian/overrides RENAME millrace COMPONENT system)
# The maintainer is the person who builds the package, from the variables that Debian's tools use. Without them, the
# address is an invalid one, not one of the build host.
set(MILLRACE_MAINTAINER "" CACHE STRING "NAME <ADDRESS> of the maintainer; empty: DEBFULLNAME and DEBEMAIL")
if(NOT MILLRACE_MAINTAINER AND DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME})
  set(MILLRACE_MAINTAINER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
elseif(NOT MILLRACE_MAINTAINER)
  set(MILLRACE_MAINTAINER "Millrace <millrace@example.invalid>")
endif()
configure_file(${packaging}/changelog ${CMAKE_BINARY_DIR}/changelog @ONLY)
install(CODE "execute_process(COMMAND gzip -9nc ${CMAKE_BINARY_DIR}/changelog
                              OUTPUT_FILE ${CMAKE_BINARY_DIR}/changelog.gz COMMAND_ERROR_IS_FATAL ANY)" COMPONENT system)
install(FILES ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION share/doc/millrace COMPONENT system)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME millrace)
set(CPACK_PACKAGE_VENDOR Millrace)
set(CPACK_PACKAGE_CONTACT "${MILLRACE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "self-hosted compute and AI gateway with a durable job queue")
set(CPACK_PACKAGE_DESCRIPTION "OCR, transcription, speech synthesis, commands in sandboxed machines and AI\nmodels, behind one REST API. Each accepted job is stored on disk and reaches\none final state.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${packaging}/postinst ${packaging}/prerm ${packaging}/postrm ${packaging}/conffiles)
include(CPack)
