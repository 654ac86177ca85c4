#!/bin/sh
# Makes the environments of the peers, each from its pinned versions; run again, it only
# makes what is missing or out of date.
#
# `setup.sh --without-rmcp` leaves out what takes longest and only `cargo xtask interop` needs.
#
# Needs python3 (3.11 or later) with venv, node 20 or later with npm, and cargo. On a bare
# Debian machine `python3 -m venv` comes in a package of its own: apt-get install python3-venv.
set -eu
cd "$(dirname "$0")"

for pair in python/.venv-1:python/requirements-1.txt python/.venv-2:python/requirements-2.txt \
    gateway/.venv:gateway/requirements.txt; do
    venv=${pair%%:*}
    pins=${pair#*:}
    # The stamp is written last: what an interrupted run left behind is made anew.
    if ! cmp -s "$pins" "$venv/installed.txt"; then
        rm -rf "$venv"
        if ! python3 -m venv "$venv"; then
            echo "setup.sh: python3 has no venv; on Debian: apt-get install python3-venv" >&2
            exit 1
        fi
        "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$pins"
        cp "$pins" "$venv/installed.txt"
    fi
done

for package in typescript oauth gateway; do
    if ! cmp -s $package/package-lock.json $package/node_modules/installed.json; then
        (cd $package && npm ci --no-audit --no-fund --loglevel=error)
        cp $package/package-lock.json $package/node_modules/installed.json
    fi
done

if [ "${1-}" != --without-rmcp ]; then
    (cd rmcp && cargo build --quiet --locked)
fi
