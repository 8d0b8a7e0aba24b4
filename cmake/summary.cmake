# SPDX-License-Identifier: MIT OR Apache-2.0
message(STATUS "cuzk ${PROJECT_VERSION} (${CUZK_COMMIT})")
message(STATUS "  compiler     ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}, warnings are errors: ${CUZK_WERROR}")
message(STATUS "  sanitizers   ${CUZK_SANITIZE}")
message(STATUS "  invariants   ${CUZK_VERIFY}")
message(STATUS "  coverage     ${CUZK_COVERAGE}")
message(STATUS "  fuzz targets ${CUZK_FUZZ}")
message(STATUS "  tests        ${CUZK_BUILD_TESTS} (prefix '${CUZK_TEST_PREFIX}', skip '${CUZK_TEST_SKIP}', only '${CUZK_TEST_ONLY}')")
