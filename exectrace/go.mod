module github.com/spanprof/spanprof/exectrace

go 1.26.0

require (
	github.com/spanprof/spanprof v0.0.0
	go.opentelemetry.io/otel v1.38.0 // indirect; as the root
	go.opentelemetry.io/otel/metric v1.38.0 // indirect; as the root
	go.opentelemetry.io/otel/sdk v1.38.0 // as the root
	go.opentelemetry.io/otel/trace v1.38.0 // tests
	go.uber.org/goleak v1.3.0 // indirect; tests
	golang.org/x/exp v0.0.0-20261014143641-f0251eb4aa3e // reads execution traces; std has no reader
)

require (
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/pprof v0.0.0-20250403155104-27863c87afa6 // indirect
	github.com/google/uuid v1.6.0 // indirect
	go.opentelemetry.io/auto/sdk v1.1.0 // indirect
	golang.org/x/sys v0.35.0 // indirect
)

replace github.com/spanprof/spanprof => ../
