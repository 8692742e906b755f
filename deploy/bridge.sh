# Parts of a bridge on this machine alone, for scripts to source: demo, check-artefacts. They set `harebell`, the binary.

# A folder of the bridge's own, and what runs for it; both go when the script ends.
folder=$(mktemp -d "${TMPDIR:-/tmp}/harebell-bridge.XXXXXX")
processes=()
# shellcheck disable=SC2329 # the trap calls it
end_bridge() {
    local index
    # The worker first: it drains while broker and simulator still answer.
    for ((index = ${#processes[@]} - 1; index >= 0; index--)); do
        kill -TERM "${processes[index]}" 2>/dev/null || continue
        wait "${processes[index]}" || true
    done
    ./deploy/broker stop "$folder/broker" 2>/dev/null || true
    rm -rf "$folder"
}
trap end_bridge EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# begin NAME ARGUMENTS...: starts a command of harebell and waits until it says that it is ready; its log is in $folder/NAME.log.
begin() {
    local name=$1 log=$folder/$1.log deadline=$((SECONDS + 30))
    : > "$log"
    "$harebell" "$@" > "$log" 2>&1 < /dev/null &
    processes+=($!)
    until grep -qx ready "$log"; do
        if ! kill -0 $! 2>/dev/null || [ $SECONDS -ge $deadline ]; then
            cat "$log" >&2
            fail "harebell $name did not become ready"
        fi
        sleep 0.05
    done
}

# end INDEX: SIGTERM for a process of ours, and its exit status.
end() {
    kill -TERM "${processes[$1]}"
    wait "${processes[$1]}"
}
