module github.com/spanprof/spanprof/cmd/spanprof

go 1.26.0

require (
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/google/pprof v0.0.0-20250403155104-27863c87afa6 // as the root
	github.com/spanprof/spanprof v0.0.0
	github.com/spanprof/spanprof/exectrace v0.0.0 // trace
	go.opentelemetry.io/otel v1.38.0 // as the root
	go.opentelemetry.io/otel/sdk v1.38.0
)

require go.opentelemetry.io/otel/trace v1.38.0

require (
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	go.opentelemetry.io/auto/sdk v1.1.0 // indirect
	go.opentelemetry.io/otel/metric v1.38.0 // indirect
	golang.org/x/exp v0.0.0-20261014143641-f0251eb4aa3e // indirect
	golang.org/x/sys v0.35.0 // indirect
)

replace (
	github.com/spanprof/spanprof => ../../
	github.com/spanprof/spanprof/exectrace => ../../exectrace
)
