# Sums what `callgrind_annotate` lists, by the part of git-sluice that it belongs to:
#
#     callgrind_annotate --auto=no --threshold=100 counts | awk -f benches/groups.awk
#
# `-v show=<part>` lists what was counted to a part instead.

function part(name) {
    if (name ~ /inflate::symbols.*turns/) return "inflate: symbols"
    if (name ~ /inflate::/) return "inflate: headers and tables"
    if (name ~ /adler32/) return "inflate: checksum"
    if (name ~ /decode::delta/) return "deltas"
    if (name ~ /decode::/) return "chains of deltas"
    if (name ~ /odb::/) return "lookups"
    if (name ~ /plan::|gix_(object|validate|glob)|memchr|hash_one|hash::sip|copy_try_fold|filter::Filter/) {
        return "trees, attributes"
    }
    if (name ~ /emit::|archive::|convert::|buffer::|pipeline::/) return "headers, writing"
    if (name ~ /heap::|dlmalloc|malloc|free|realloc|calloc/) return "allocator"
    return "start-up, the rest"
}

match($0, /^ *[0-9,]+ \([ 0-9.]+%\)/) && !/PROGRAM TOTALS/ {
    count = $1
    gsub(",", "", count)
    name = substr($0, RLENGTH + 1)
    sub(/^[^:]*:/, "", name)
    total += count
    sums[part(name)] += count
    if (part(name) == show) print count, name
}

END {
    for (name in sums) {
        if (show == "") {
            printf "%-26s %8.1f M %6.1f %%\n", name, sums[name] / 1e6, 100 * sums[name] / total
        }
    }
}
