# Language level, warnings, sanitizers, ccache and the one precompiled header.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Paths are relative to the source folder, so several clones share the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_MAXSIZE=5G
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
include(CheckCXXCompilerFlag)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

add_library(millrace_flags INTERFACE)
target_include_directories(millrace_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
set(MILLRACE_WARNINGS
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual)
set(MILLRACE_WARNINGS_STOP $<$<BOOL:${MILLRACE_WERROR}>:-Werror>)
target_compile_options(millrace_flags INTERFACE ${MILLRACE_WARNINGS} -fpch-preprocess ${MILLRACE_WARNINGS_STOP})
if(CMAKE_UNITY_BUILD)
  # In a unity file, a local can have the name of a declaration from another source, and GCC does not recognise that a
  # type is local to one source.
  target_compile_options(millrace_flags INTERFACE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
target_compile_definitions(millrace_flags INTERFACE MILLRACE_VERSION="${PROJECT_VERSION}")
target_link_libraries(millrace_flags INTERFACE Threads::Threads)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(millrace_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")  # else ccache misses each time
endif()
if(MILLRACE_SANITIZE)
  target_compile_options(millrace_flags INTERFACE -fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(millrace_flags INTERFACE -fsanitize=${MILLRACE_SANITIZE})
endif()
if(MILLRACE_SANITIZE MATCHES "fuzzer")
  target_compile_options(millrace_flags INTERFACE -fno-sanitize-recover=all)  # an error ends the run: it is a finding
endif()
if(MILLRACE_SANITIZE MATCHES "undefined")
  # These checks cause most of UBSan's compile time. ASan finds null, freed and wild pointers, and x86 supports
  # unaligned access.
  target_compile_options(millrace_flags INTERFACE -fno-sanitize=null,alignment,vptr,pointer-overflow,object-size)
endif()

# Hardening of the programs (docs/design/security.md §8). Builds with sanitizers have their own checks. FORTIFY needs
# optimization. Debian's C library is built without CET, so the linker does not mark the programs as CET-ready; their
# functions still begin with the instructions that CET requires.
add_library(millrace_hardening INTERFACE)
if(NOT MILLRACE_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(MILLRACE_HARDENING -fPIE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  check_cxx_compiler_flag(-fcf-protection MILLRACE_HAS_CET)  # x86 only
  if(MILLRACE_HAS_CET)
    list(APPEND MILLRACE_HARDENING -fcf-protection)
  endif()
  target_compile_options(millrace_hardening INTERFACE ${MILLRACE_HARDENING})
  target_link_options(millrace_hardening INTERFACE -pie -Wl,-z,relro,-z,now)
endif()

# Third-party packages, by the short names that millrace_packages uses.
function(millrace_pkg name module)
  pkg_check_modules(${name} REQUIRED IMPORTED_TARGET GLOBAL ${module})
  add_library(pkg_${name} ALIAS PkgConfig::${name})
endfunction()
millrace_pkg(openssl libcrypto)
millrace_pkg(curl libcurl)
millrace_pkg(seccomp libseccomp)
millrace_pkg(simdjson simdjson)
millrace_pkg(sqlite sqlite3)
# libpq is loaded at run time, and only with store.url, so only its header is used here.
pkg_check_modules(libpq REQUIRED libpq)
add_library(pkg_libpq INTERFACE)
target_include_directories(pkg_libpq SYSTEM INTERFACE ${libpq_INCLUDE_DIRS})
millrace_pkg(rdkafka rdkafka)
millrace_pkg(pistache libpistache)
millrace_pkg(tesseract tesseract)
millrace_pkg(leptonica lept)
millrace_pkg(qpdf libqpdf)
millrace_pkg(yaml yaml-cpp)
millrace_pkg(pocketsphinx pocketsphinx)
get_target_property(sphinx_folders PkgConfig::pocketsphinx INTERFACE_INCLUDE_DIRECTORIES)
list(REMOVE_ITEM sphinx_folders /usr/include/sphinxbase)  # Debian's .pc file names it, but the folder does not exist
set_target_properties(PkgConfig::pocketsphinx PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${sphinx_folders}")
millrace_pkg(sndfile sndfile)
millrace_pkg(aacenc vo-aacenc)
millrace_pkg(zlib zlib)
millrace_pkg(edit libedit)
add_library(pkg_flite INTERFACE)  # Debian's package has no .pc file
target_link_libraries(pkg_flite INTERFACE flite_cmu_us_slt flite_cmu_us_rms flite_cmu_us_awb flite_cmu_us_kal16
                      flite_usenglish flite_cmulex flite)
# The speech engine that scripts/fetch-speech has fetched. It is loaded at run time, so only its header is used here. A
# build without it has no MILLRACE_HAS_SPEECH_ENGINE.
set(MILLRACE_SPEECH ${CMAKE_SOURCE_DIR}/build/speech CACHE PATH "Folder of the speech engine (scripts/fetch-speech)")
add_library(pkg_sherpa INTERFACE)
set(speech_header ${MILLRACE_SPEECH}/include/sherpa-onnx/c-api/c-api.h)
if(EXISTS ${speech_header})
  target_include_directories(pkg_sherpa SYSTEM INTERFACE ${MILLRACE_SPEECH}/include)
  target_compile_definitions(pkg_sherpa INTERFACE MILLRACE_HAS_SPEECH_ENGINE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${speech_header})
endif()
if(MILLRACE_SANITIZE)  # sanitizers have their own allocators
  add_library(pkg_jemalloc INTERFACE)
else()
  millrace_pkg(jemalloc jemalloc)
endif()
find_package(prometheus-cpp REQUIRED COMPONENTS core)
add_library(pkg_prometheus ALIAS prometheus-cpp::core)
find_package(nlohmann_json REQUIRED)
add_library(pkg_json ALIAS nlohmann_json::nlohmann_json)
foreach(header_only libexpected cli11 xxhash)
  add_library(pkg_${header_only} INTERFACE)
endforeach()
add_library(pkg_asio INTERFACE)
target_compile_definitions(pkg_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED)

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/empty.cpp CONTENT "")
add_library(millrace_pch OBJECT ${CMAKE_BINARY_DIR}/generated/empty.cpp)
target_link_libraries(millrace_pch PRIVATE millrace_flags millrace_hardening)
set(MILLRACE_PCH
  <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <functional> <map> <memory> <mutex>
  <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
  <nlohmann/json.hpp>)
target_precompile_headers(millrace_pch PRIVATE ${MILLRACE_PCH})
