# SPDX-License-Identifier: Apache-2.0
"""The exchange's own counts are independent: no file but its main includes a header of fabscope.

independent.py FOLDER
"""

import glob
import os
import re
import sys

from support import Checks

folder = sys.argv[1]
checks = Checks()
names = [os.path.basename(path) for path in glob.glob(os.path.join(folder, "exchange_*.[ch]pp"))]
checks.that(len(names) >= 5, f"only {names} in {folder}")
for name in names:
    with open(os.path.join(folder, name)) as text:
        includes = re.findall(r"^\s*#\s*include\s*[<\"]([^>\"]+)", text.read(), re.M)
    checks.that(includes, f"{name} includes nothing")
    checks.equal([one for one in includes if "fabscope" in one], [], name)
    # Nor by way of another file of the program: main's is no header.
    checks.that(all(one in names for one in includes if one.startswith("exchange")), f"{name}: {includes}")
checks.end()
