// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformtest is the table of what a wrapper that labels goroutines by
// span must keep unchanged and get right. The root package runs it against
// itself, and internal/integration against other wrappers too.
package conformtest

// Row is one thing that has to hold.
type Row struct {
	Name  string
	check func(*Case)
}

// Rows is the table.
var Rows = []Row{
	{"labels are set at Start and restored at End, in order", restoredInOrder},
	{"a descendant is labelled by its scope, in context and on the goroutine", descendants},
	{"user labels in the context are kept", userLabelsInContext},
	{"pprof.Do inside a span adds its labels and takes them off", doInside},
	{"returned span and context span are the same, and their provider is the wrapper", sameSpan},
	{"End twice is harmless", endTwice},
	{"End on another goroutine leaves that goroutine's labels alone", endElsewhere},
	{"a parent that ends before its child leaves the labels to it", parentEndsFirst},
	{"a local root that ends before its child takes the labels off for good", rootEndsFirst},
	{"work that outlives its local root keeps its labels", fireAndForget},
	{"a worker is labelled during a child span and left as found", worker},
	{"WithNewRoot gets ids of its own", newRoot},
	{"a context with nothing but the span keeps the local root", bareContextWithSpan},
	{"SetName after Start is seen in span_name", setName},
	{"SetName gives a span without a name its label", setFirstName},
	{"a span with a remote parent is a local root", remoteParent},
	{"unsampled spans have no labels", unsampled},
	{"recorded but unsampled spans have no labels", recordOnly},
	{"a noop provider's spans have no labels", noopProvider},
	{"the number of span names is bounded", nameCap},
	{"labelled spans have pyroscope.profile.id, others have not", profileID},
	{"a panic becomes the SDK's exception event with its stack, and goes on", panicEvent},
	{"panic(nil) stays what it is", panicNil},
	{"Goexit leaves no event", goexit},
	{"spans are ReadOnlySpan and ReadWriteSpan of the SDK", readableSpans},
	{"links, attributes, kind, status, events and times are the SDK's", untouched},
	{"a nil context starts a root", nilContext},
	{"processors and samplers see the SDK's own parent span", innerParent},
	{"Shutdown, ForceFlush, processors and Unwrap are reachable", providerMethods},
}
