#!/usr/bin/env bash
# Copyright The spanprof Authors
# SPDX-License-Identifier: Apache-2.0
#
# The way of README.md on one machine: a Collector of the layer "gateway" takes spans, is
# recorded, built again with its own default.pgo, recorded again, and compared. From the top of
# the repository, into a new directory:
#
#	examples/collector-pgo/try.sh DIRECTORY
#
# It takes five minutes on two cores, most of it in the compiler.
set -euo pipefail
out="${1:?name a new directory}"
mkdir "$out"
out="$(cd "$out" && pwd)"
layers=internal/integration/collectorpgo

say() {
	echo "\$ ${*//"$out/"/}"
	"$@"
}
# build compiles the Collector; it wants "default.pgo" or nothing.
build() { say env GOWORK=off GOFLAGS=-buildvcs=false go build -C "$layers" -o "$out/$1" ${2:+"-pgo=$2"} ./gateway; }

# record runs a Collector three times, each under 15 s of load, and records it.
record() {
	local program="$1" dir="$2" collector load
	for _ in 1 2 3; do
		"$program" --config examples/collector-pgo/gateway.yaml 2>>"$out/gateway.log" &
		collector=$!
		trap 'kill $collector' EXIT
		until (: </dev/tcp/127.0.0.1/5317) 2>/dev/null; do
			kill -0 $collector || exit 1 # its log has the reason
			sleep 0.2
		done
		"$out/otlpload" -to 127.0.0.1:5317 -spans 600000 -rate 40000 &
		load=$!
		say "$out/spanprof" record -o "$dir" -for 15s -every 5s http://127.0.0.1:2777/debug/pprof/
		wait $load
		trap - EXIT
		kill -INT $collector
		wait $collector
	done
}

go build -C cmd/spanprof -o "$out/" .
go build -C internal/integration -o "$out/" ./otlpload
build gateway
record "$out/gateway" "$out/before"
say "$out/spanprof" pgo -o "$out/default.pgo" "$out/before"
build gateway-pgo "$out/default.pgo"
say go version -m "$out/gateway-pgo" | grep -e '^\$' -e -pgo
record "$out/gateway-pgo" "$out/after"
say "$out/spanprof" diff "$out/before" "$out/after"
say "$out/spanprof" pgo -check "$out/gateway" "$out/default.pgo" "$out/after"
