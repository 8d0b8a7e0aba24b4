# SPDX-License-Identifier: MIT OR Apache-2.0
# CUZK_COMMIT: the commit that is built, "-dirty" if files differ from it; "unknown" outside a git checkout.
set(CUZK_COMMIT "unknown")
find_package(Git QUIET)
if(Git_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE described RESULT_VARIABLE rc
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(rc EQUAL 0)
    set(CUZK_COMMIT ${described})
  endif()
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.h.in ${PROJECT_BINARY_DIR}/generated/cuzk_version.h @ONLY)
