module github.com/spanprof/spanprof/ebpfbridge

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0 // tests
	github.com/google/pprof v0.0.0-20250403155104-27863c87afa6 // profiles of the receiver
	github.com/ianlancetaylor/demangle v0.0.0-20260724033716-83e58baca724 // names of C++ and Rust
	github.com/spanprof/spanprof v0.0.0
	go.opentelemetry.io/otel v1.45.0 // as exporter/otlp
	go.opentelemetry.io/otel/metric v1.45.0 // indirect; as exporter/otlp
	go.opentelemetry.io/otel/sdk v1.45.0
	go.opentelemetry.io/otel/trace v1.45.0 // indirect; tests
	go.opentelemetry.io/proto/slim/otlp v1.11.1 // the messages, without gRPC
	go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development v0.4.1
	go.opentelemetry.io/proto/slim/otlp/profiles/v1development v0.4.1
	go.uber.org/goleak v1.3.0 // indirect; tests
	golang.org/x/net v0.58.0 // as otlpgrpc; bounds connections
	golang.org/x/sys v0.47.0 // memfd_create, mmap, prctl
	google.golang.org/grpc v1.83.2 // package receiver
	google.golang.org/protobuf v1.36.12 // writes the context
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	golang.org/x/text v0.41.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260526163538-3dc84a4a5aaa // indirect
)

replace (
	github.com/spanprof/spanprof => ../
	github.com/spanprof/spanprof/exporter/otlp => ../exporter/otlp
)
