#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the Debian package of a build and looks at its contents, without root and without installing it.
check_deb.py CPACK BUILD_FOLDER"""
import glob
import os
import re
import subprocess
import sys
import tempfile

EXPECTED = [r"\./usr/bin/cuzk", r"\./usr/lib/.*libcuzk\.so\.\d+\.\d+\.\d+", r"\./usr/lib/.*libcuzk\.so\.\d+ -> .*", r"\./usr/lib/.*libcuzk\.so -> .*",
            r"\./usr/lib/.*pkgconfig/libcuzk\.pc", r"\./usr/include/cuzk/cuzk\.h", r"\./usr/include/cuzk/status\.h",
            r"\./usr/share/man/man1/cuzk\.1(\.gz)?", r"\./usr/share/doc/cuzk/LICENSE-MIT", r"\./usr/share/doc/cuzk/LICENSE-APACHE",
            r"\./usr/lib/systemd/system/cuzk\.service", r"\./usr/lib/sysusers\.d/cuzk\.conf"]


def main():
    cpack, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([cpack, "-G", "DEB", "-B", out, "--config", os.path.join(build, "CPackConfig.cmake")], check=True,
                       stdout=subprocess.DEVNULL)
        debs = glob.glob(os.path.join(out, "*.deb"))
        if len(debs) != 1:
            print("packages:", debs)
            return 1
        listing = subprocess.run(["dpkg-deb", "--contents", debs[0]], capture_output=True, text=True, check=True).stdout
        fields = subprocess.run(["dpkg-deb", "--field", debs[0], "Package", "Version", "Depends"], capture_output=True, text=True,
                                check=True).stdout
    paths = [line.split(None, 5)[5] for line in listing.splitlines()]
    missing = [e for e in EXPECTED if not any(re.fullmatch(e, p) for p in paths)]
    strange = [p for p in paths if not p.startswith("./usr/") and p not in ("./", "./usr/")]
    for e in missing:
        print("not in the package:", e)
    for p in strange:
        print("outside /usr:", p)
    print(fields.strip())
    return 1 if missing or strange or "Package: cuzk" not in fields or "libc6" not in fields else 0


if __name__ == "__main__":
    sys.exit(main())
