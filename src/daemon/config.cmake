# SPDX-License-Identifier: MIT OR Apache-2.0
# The configuration stands apart, so that it can be tested and fuzzed alone. toml++ is only seen by toml.cpp.
cuzk_layer(daemon_config
  SOURCES
    config.c
    config_print.c
    config_units.c
    toml.cpp
  DEPS base)
