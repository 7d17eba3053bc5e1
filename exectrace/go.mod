module github.com/spanprof/spanprof/exectrace

go 1.26.0

require (
	github.com/spanprof/spanprof v0.0.0
	golang.org/x/exp v0.0.0-20261014143641-f0251eb4aa3e // reads execution traces; std has no reader
)

replace github.com/spanprof/spanprof => ../
