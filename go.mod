module github.com/spanprof/spanprof

go 1.26.0

// Each version is the oldest that passes all tests, so that adding spanprof to a
// service raises nothing there: Go picks the highest that anybody asks for.
require (
	github.com/google/go-cmp v0.7.0 // tests
	github.com/google/pprof v0.0.0-20250403155104-27863c87afa6 // reads, merges and writes profiles; untagged: the version that ginkgo and Kubernetes ask for
	github.com/grafana/pyroscope-go/godeltaprof v0.1.12 // heap, mutex and block profiles of a window
	go.opentelemetry.io/otel v1.38.0 // attributes, the error handler
	go.opentelemetry.io/otel/exporters/stdout/stdouttrace v1.38.0 // the package's Example
	go.opentelemetry.io/otel/metric v1.38.0 // what is lost, as metrics
	go.opentelemetry.io/otel/sdk v1.38.0 // resources, span processors
	go.opentelemetry.io/otel/trace v1.38.0 // what is wrapped
	go.uber.org/goleak v1.3.0 // tests
	golang.org/x/sys v0.35.0 // the tick of the system's clock; the SDK's own dependency
)

require (
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/klauspost/compress v1.18.6 // indirect
	go.opentelemetry.io/auto/sdk v1.1.0 // indirect
)
