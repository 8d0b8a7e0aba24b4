# SPDX-License-Identifier: MIT OR Apache-2.0
# cmake -DIN=file -DOUT=file.c -DNAME=symbol -P embed.cmake: the bytes of a file as a C array NAME[] and its length NAME_bytes.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "/* Made by cmake/embed.cmake. */
#include <stddef.h>
extern const unsigned char ${NAME}[];
extern const size_t ${NAME}_bytes;
const unsigned char ${NAME}[] = {
${bytes}
};
const size_t ${NAME}_bytes = sizeof ${NAME};
")
