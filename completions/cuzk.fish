# SPDX-License-Identifier: MIT OR Apache-2.0
# fish completion of cuzk: commands and options are read from the program's own help.
function __cuzk_words
    cuzk help 2>/dev/null | awk '/^commands:/ {on = 1; next} on && /^  / {print substr($0, 3, 20)} on && !/^  / {exit}'
end
complete -c cuzk -n '__fish_use_subcommand' -f -a '(__cuzk_words | awk "{print \$1}" | sort -u)'
complete -c cuzk -n 'test (count (commandline -opc)) -eq 2' -f -a '(__cuzk_words | awk -v g=(commandline -opc)[2] "\$1 == g {print \$2}")'
complete -c cuzk -n 'test (count (commandline -opc)) -ge 2' -a '(set -l w (commandline -opc); cuzk $w[2] $w[3] --help 2>/dev/null | grep -o "^  --[a-z0-9-]*" | string trim)'
complete -c cuzk -n 'test (count (commandline -opc)) -eq 2; and contains -- (commandline -opc)[2] submit' -f -a 'porep winning-post window-post snap'
