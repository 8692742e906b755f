# Parts of a bridge on this machine alone, for scripts to source: demo, soak, checks. They set `harebell`, the
# binary.

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

# begin NAME ARGUMENTS...: starts a command of harebell and waits until it says that it is ready; its log is in
# $folder/NAME.log.
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

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# begin_demo_bridge FILE [OPTIONS OF THE SIMULATOR...]: the worker of deploy/docker/compose.yaml with its simulated APNs,
# at home here; the file is deploy/docker/harebell.yaml or like it. Sets `broker`, the broker's address, and `admin`, the
# port of the admin server.
begin_demo_bridge() {
    local port configuration=$1
    shift
    broker=$(./deploy/broker start "$folder/broker")
    ./deploy/docker/make-credentials "$folder/credentials"
    begin simulate --port 0 --log none "$@" \
        --public-key "$folder/credentials/AuthKey.pub" --key-id DEMO123456 --team-id DEMOTEAM01 \
        --certificate "$folder/credentials/simulator.pem" --private-key "$folder/credentials/simulator.key"
    port=$(sed -n 's/^port //p' "$folder/simulate.log")
    admin=$(free_port)
    sed -e "s|amqp://harebell:[^\"]*|$broker|" -e "s|https://simulator:8443|https://localhost:$port|" \
        -e "s|0.0.0.0:9464|127.0.0.1:$admin|" "$configuration" > "$folder/harebell.yaml"
    "$harebell" topology --config "$folder/harebell.yaml" --apply > "$folder/topology.log"
    begin run --config "$folder/harebell.yaml"
}
