# SPDX-License-Identifier: MIT OR Apache-2.0
install(TARGETS cuzk RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES docs/cli/cuzk.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES completions/cuzk.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME cuzk)
install(FILES completions/_cuzk DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES completions/cuzk.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# The service: its unit, and the user it runs as.
configure_file(packaging/cuzk.service ${PROJECT_BINARY_DIR}/cuzk.service @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cuzk.service DESTINATION lib/systemd/system)
install(FILES packaging/cuzk.sysusers DESTINATION lib/sysusers.d RENAME cuzk.conf)
install(FILES README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE docs/operate.md docs/config.md cuzk.example.toml
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/grafana/cuzk.json docs/grafana/alerts.yml DESTINATION ${CMAKE_INSTALL_DOCDIR}/grafana)

# libcuzk: the shared library, its public headers, and how pkg-config finds them.
install(TARGETS libcuzk LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/cuzk/cuzk.h include/cuzk/status.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cuzk)
install(FILES ${PROJECT_BINARY_DIR}/libcuzk.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES examples/prove_in_process.c DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

# cpack -G DEB in the build folder: one package with the program and the library.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cuzk)
set(CPACK_PACKAGE_VENDOR "the cuzk authors")
set(CPACK_PACKAGE_CONTACT "the cuzk authors <cuzk@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Groth16 proving engine for Filecoin")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)
