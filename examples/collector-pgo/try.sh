#!/usr/bin/env bash
# Copyright The spanprof Authors
# SPDX-License-Identifier: Apache-2.0
#
# The way of README.md on one machine. A Collector takes spans, is recorded, and is built again
# with its own default.pgo. Then both builds take turns under the same load, and are compared per
# span: other work of the machine slows both. From the top of the repository, into a new directory:
#
#	examples/collector-pgo/try.sh DIRECTORY
#
# It takes six minutes on two cores, most of it in the compiler.
set -euo pipefail
out="${1:?name a new directory}"
mkdir "$out"
out="$(cd "$out" && pwd)"
source=internal/integration/collectorpgo
declare -A spans=([profile]=0 [before]=0 [after]=0)

say() {
	echo "\$ ${*//"$out/"/}"
	"$@"
}
# build compiles the Collector; it wants "default.pgo" or nothing.
build() { say env GOWORK=off GOFLAGS=-buildvcs=false go build -C "$source" -o "$out/$1" ${2:+"-pgo=$2"} .; }

# accepted prints how many spans the Collector has taken.
accepted() { curl -sf http://127.0.0.1:9888/metrics | awk '/^otelcol_receiver_accepted_spans/ { n += $NF } END { printf "%d", n }'; }

# record runs a Collector under load, records it for 15 s, and counts its spans of this time.
record() {
	local program="$1" dir="$2" collector load first
	"$program" --config examples/collector-pgo/gateway.yaml 2>>"$out/gateway.log" &
	collector=$!
	trap 'kill $collector' EXIT
	until (: </dev/tcp/127.0.0.1/5317 && : </dev/tcp/127.0.0.1/9888) 2>/dev/null; do
		kill -0 $collector || exit 1 # its log has the reason
		sleep 0.2
	done
	"$out/otlpload" -to 127.0.0.1:5317 -spans 800000 -rate 40000 &
	load=$!
	sleep 2
	first="$(accepted)"
	say "$out/spanprof" record -o "$out/$dir" -for 15s -every 5s http://127.0.0.1:2777/debug/pprof/
	spans[$dir]=$((spans[$dir] + $(accepted) - first))
	wait $load
	trap - EXIT
	kill -INT $collector
	wait $collector
}

go build -C cmd/spanprof -o "$out/" .
go build -C internal/integration -o "$out/" ./otlpload
build gateway
record "$out/gateway" profile
say "$out/spanprof" pgo -o "$out/default.pgo" "$out/profile"
build gateway-pgo "$out/default.pgo"
say go version -m "$out/gateway-pgo" | grep -e '^\$' -e -pgo
for _ in 1 2; do
	record "$out/gateway" before
	record "$out/gateway-pgo" after
	record "$out/gateway-pgo" after
	record "$out/gateway" before
done
say "$out/spanprof" diff -requests "${spans[before]}:${spans[after]}" "$out/before" "$out/after"
say "$out/spanprof" pgo -check "$out/gateway" "$out/default.pgo" "$out/after"
