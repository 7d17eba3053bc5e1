module github.com/spanprof/spanprof/exporter/otlp/otlpgrpc

go 1.26.0

require (
	github.com/google/pprof v0.0.0-20250403155104-27863c87afa6 // tests
	github.com/spanprof/spanprof v0.0.0
	github.com/spanprof/spanprof/exporter/otlp v0.0.0
	go.opentelemetry.io/otel v1.45.0 // as exporter/otlp
	go.opentelemetry.io/otel/sdk v1.45.0 // indirect
	go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development v0.4.1
	go.uber.org/goleak v1.3.0 // indirect; tests
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260526163538-3dc84a4a5aaa // RetryInfo; untagged: the version that grpc asks for
	google.golang.org/grpc v1.83.2
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/metric v1.45.0 // indirect
	go.opentelemetry.io/otel/trace v1.45.0 // indirect
	go.opentelemetry.io/proto/slim/otlp v1.11.1 // indirect
	go.opentelemetry.io/proto/slim/otlp/profiles/v1development v0.4.1 // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace (
	github.com/spanprof/spanprof => ../../../
	github.com/spanprof/spanprof/exporter/otlp => ../
)
