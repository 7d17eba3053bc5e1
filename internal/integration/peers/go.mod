module github.com/spanprof/spanprof/internal/integration/peers

go 1.26.0

// Commands that compare with peers whose modules are old or untagged. They are no
// part of the workspace: not every module registry serves these on every day.
require (
	github.com/felixge/fgprof v0.9.5
	github.com/pyroscope-io/otel-profiling-go v0.5.0
	github.com/spanprof/spanprof v0.0.0
	github.com/spanprof/spanprof/internal/integration v0.0.0
	go.opentelemetry.io/otel v1.47.0
	go.opentelemetry.io/otel/sdk v1.47.0
	go.opentelemetry.io/otel/trace v1.47.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/pprof v0.0.0-20250403155104-27863c87afa6 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/grafana/pyroscope-go/godeltaprof v0.1.12 // indirect
	github.com/klauspost/compress v1.20.2 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

replace (
	github.com/spanprof/spanprof => ../../../
	github.com/spanprof/spanprof/exporter/otlp => ../../../exporter/otlp
	github.com/spanprof/spanprof/exporter/otlp/otlpgrpc => ../../../exporter/otlp/otlpgrpc
	github.com/spanprof/spanprof/internal/integration => ../
)
