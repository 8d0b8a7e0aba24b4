# SPDX-License-Identifier: MIT OR Apache-2.0
install(TARGETS cuzk RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES docs/cli/cuzk.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES completions/cuzk.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME cuzk)
install(FILES completions/_cuzk DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES completions/cuzk.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE DESTINATION ${CMAKE_INSTALL_DOCDIR})
