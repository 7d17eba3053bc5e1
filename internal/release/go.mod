module github.com/spanprof/spanprof/internal/release

go 1.26.0

// A module of its own and no part of the workspace: it reads the others' go.mod.
require golang.org/x/mod v0.30.0
