// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

// Per is what CPU time is divided by.
type Per string

// What CPU time can be divided by.
const (
	// PerRequest is a request, or what else the numbers of SetWork count.
	PerRequest Per = "request"
	// PerSecond is a second of time, which compares versions under equal load.
	PerSecond Per = "second"
)

// Result is what moved between two sides.
type Result struct {
	// Repeated is set if both sides have three runs or more. Else nothing is tested, because
	// the noise is unknown.
	Repeated bool `json:"repeated"`

	Per    Per  `json:"per"`
	Before Size `json:"before"`
	After  Size `json:"after"`
	// Total is all CPU time that is selected. Its test is not one of the functions'
	// tests: its Q is its P.
	Total Change `json:"total"`
	// Functions are those that moved, then the others, each by how much CPU time
	// they differ.
	Functions []Function `json:"functions"`
	// Tested is the number of functions with a test: by Total, by Self, or both.
	Tested int `json:"tested"`
}

// Size is the amount of data of a side.
type Size struct {
	Runs    int     `json:"runs"`
	Samples float64 `json:"samples"`
}

// Function is how one function moved.
type Function struct {
	Name string `json:"name"`
	// Total is the function with what it calls, Self without. Where nearly all is
	// Self, only Total is tested.
	Total Change `json:"total"`
	Self  Change `json:"self"`
	// Moved is set if one of the two moved beyond noise.
	Moved bool `json:"moved"`
}

// Change is a value on both sides.
type Change struct {
	// Before and After are the means: nanoseconds of CPU per request or
	// second.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Ratio is After to Before, by the mean of the logarithms, with half a sample added to
	// each run: so a new function has a ratio.
	Ratio float64 `json:"ratio"`
	// Test is nil where nothing is tested: there are too few samples or runs.
	Test *Test `json:"test,omitempty"`
}

// Moved reports whether a change is beyond noise.
func (c Change) Moved() bool { return c.Test != nil && c.Test.Moved }

// Test is whether a change is beyond noise.
type Test struct {
	// Low and High are the ends of the 95 % interval of the ratio.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// P is the probability of a difference of this size without a change. Q is the same
	// for all functions together: 5 % of the functions with a Q of at most 5 % have not
	// moved.
	P float64 `json:"p"`
	Q float64 `json:"q"`
	// Moved is Q at most 5 %.
	Moved bool `json:"moved"`
}
