module github.com/spanprof/spanprof/internal/integration

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/google/pprof v0.0.0-20250403155104-27863c87afa6
	github.com/grafana/otel-profiling-go v0.7.0 // the peer of the span wrapper
	github.com/grafana/pyroscope-go v1.5.0 // the peer of profiler and push
	github.com/spanprof/spanprof v0.0.0
	github.com/spanprof/spanprof/ebpfbridge v0.0.0
	github.com/spanprof/spanprof/exporter/otlp/otlpgrpc v0.0.0
	go.opentelemetry.io/otel v1.47.0 // the newest: the root module alone is tested with the oldest
	go.opentelemetry.io/otel/sdk v1.47.0
	go.opentelemetry.io/otel/trace v1.47.0
	golang.org/x/sys v0.48.0 // thread ids
)

require (
	github.com/spanprof/spanprof/exporter/otlp v0.0.0
	go.opentelemetry.io/proto/slim/otlp v1.11.1
	go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development v0.4.1
	google.golang.org/grpc v1.83.2
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/ianlancetaylor/demangle v0.0.0-20260724033716-83e58baca724 // indirect
	golang.org/x/exp v0.0.0-20261014143641-f0251eb4aa3e // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc // indirect
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/grafana/pyroscope-go/godeltaprof v0.1.12 // indirect
	github.com/klauspost/compress v1.20.2 // indirect
	github.com/spanprof/spanprof/exectrace v0.0.0
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/exporters/stdout/stdouttrace v1.45.0 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	go.opentelemetry.io/proto/slim/otlp/profiles/v1development v0.4.1 // indirect
	golang.org/x/net v0.59.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace (
	github.com/spanprof/spanprof => ../../
	github.com/spanprof/spanprof/ebpfbridge => ../../ebpfbridge
	github.com/spanprof/spanprof/exporter/otlp => ../../exporter/otlp
	github.com/spanprof/spanprof/exporter/otlp/otlpgrpc => ../../exporter/otlp/otlpgrpc
)

replace github.com/spanprof/spanprof/exectrace => ../../exectrace
