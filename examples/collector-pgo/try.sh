#!/usr/bin/env bash
# Copyright The spanprof Authors
# SPDX-License-Identifier: Apache-2.0
#
# The way of README.md on one machine. A Collector takes spans, is recorded, and is built again
# with its own default.pgo. Then both builds take turns under the same load. The CPU time of
# the process is divided by the spans. From the top of the repository, into a new directory:
#
#	examples/collector-pgo/try.sh DIRECTORY [PAIRS]
#
# Ten pairs, the default, take about 11 minutes on two cores without other work. The last lines are
# the table of README.md.
set -euo pipefail
out="${1:?name a new directory}"
pairs="${2:-10}"
mkdir "$out"
out="$(cd "$out" && pwd)"

say() {
	echo "\$ ${*//"$out/"/}"
	"$@"
}
# build compiles the Collector; it wants "default.pgo" or nothing.
build() { say env GOWORK=off GOFLAGS=-buildvcs=false go build -C internal/integration/collector -o "$out/$1" ${2:+"-pgo=$2"} .; }

# cpu prints the CPU seconds of the Collector so far.
cpu() { curl -sf http://127.0.0.1:9888/metrics | awk '/^otelcol_process_cpu_seconds/ { print $NF }'; }

# load sends spans to a build, always at the same rate. It prints the CPU time of a span in
# us. With a third argument it records the Collector for that time.
load() {
	local program="$1" spans="$2" first collector recording=""
	"$out/$program" --config examples/collector-pgo/gateway.yaml 2>>"$out/$program.log" &
	collector=$!
	trap 'kill $collector' EXIT
	until (: </dev/tcp/127.0.0.1/5317) 2>/dev/null && first="$(cpu)"; do
		kill -0 $collector || exit 1 # its log has the reason
		sleep 0.2
	done
	if [ $# = 3 ]; then
		(sleep 2 && say "$out/spanprof" record -o "$out/profile" -for "$3" -every 10s http://127.0.0.1:2777/debug/pprof/ >&2) &
		recording=$!
	fi
	"$out/otlpload" -to 127.0.0.1:5317 -spans "$spans" -rate 70000 >&2
	[ -z "$recording" ] || wait $recording
	sleep 3 # decisions come 2 s after the last span
	awk -v s="$spans" -v from="$first" -v to="$(cpu)" 'BEGIN { printf "%.3f\n", (to - from) * 1e6 / s }'
	trap - EXIT
	kill -INT $collector
	wait $collector
}

go build -C cmd/spanprof -o "$out/" .
go build -C internal/integration -o "$out/" ./otlpload
build gateway
load gateway 6000640 80s # 5,000 samples or more
say "$out/spanprof" pgo -o "$out/default.pgo" "$out/profile"
build gateway-own "$out/default.pgo"
for ((i = 0; i < pairs; i++)); do
	if ((i % 2)); then
		own="$(load gateway-own 716800)"
		none="$(load gateway 716800)"
	else
		none="$(load gateway 716800)"
		own="$(load gateway-own 716800)"
	fi
	echo "$none $own" | tee -a "$out/pairs"
done
say "$out/spanprof" pgo -check "$out/gateway" "$out/default.pgo"

echo "| pairs | CPU of a span, none | own default.pgo | ratio, 95 % interval | least to most |"
echo "|---|---|---|---|---|"
awk '
	{ r = $2 / $1; none += $1; own += $2; sum += log(r); square += log(r) ^ 2; if (!least || r < least) least = r; if (r > most) most = r }
	END {
		split("12.71 4.30 3.18 2.78 2.57 2.45 2.36 2.31 2.26", t, " ") # Student, by degrees of freedom
		mean = sum / NR
		interval = "one pair has no interval"
		if (NR > 1) {
			half = t[NR < 11 ? NR - 1 : 9] * sqrt((square / NR - mean ^ 2) / (NR - 1))
			interval = sprintf("%.3f to %.3f", exp(mean - half), exp(mean + half))
		}
		printf "| %d | %.2f us | %.2f us | %.3f (%s) | %.3f to %.3f |\n", NR, none / NR, own / NR, exp(mean), interval, least, most
	}' "$out/pairs" | tee "$out/table"
