// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package selfcheck

import "fmt"

// The checks of spans and their labels.
const (
	ProviderMissing    = "provider-missing"
	ProviderNotWrapped = "provider-not-wrapped"
	ProviderNotGlobal  = "provider-not-global"
	ProviderOther      = "provider-of-others"
	ProviderUnset      = "provider-not-set"
	TracersBeforeWrap  = "tracers-before-wrap"
	NotSampled         = "spans-not-sampled"
	NamesFull          = "span-names-too-many"
	EndsElsewhere      = "spans-end-elsewhere"
	NoRoom             = "spans-without-room"
	NotEnded           = "spans-not-ended"
	PublicAPI          = "labels-by-public-api"
	CPUOutside         = "cpu-outside-spans"
)

// Unlabelled are the findings that explain why spans have no samples at all.
var Unlabelled = []string{Disabled, ProviderNotWrapped, ProviderNotGlobal, TracersBeforeWrap}

var spanChecks = []check{
	providerMissing, providerNotWrapped, providerNotGlobal, providerOther, providerUnset, tracersBeforeWrap,
	notSampled, namesFull, endsElsewhere, noRoom, notEnded, publicAPI, cpuOutside, ownRequests,
}

func providerMissing(f *Facts) *Finding {
	if f.Disabled != "" || f.Provider.Given || f.Labels.Wrappers == 0 || f.Labels.Sampled == 0 || f.Spans.Ended > 0 {
		return nil
	}
	return &Finding{
		ID: ProviderMissing, Severity: Wrong, Certain: f.enough(int64(f.Labels.Sampled)),
		Seen: fmt.Sprintf("About %s are labelled and none is recorded: no tracer provider was given.", count(f.Labels.Sampled, "span")),
		Do:   "Give what spanprof.NewTracerProvider returned to inprocess.Start.",
	}
}

func providerUnset(f *Facts) *Finding {
	if f.Disabled != "" || !f.Provider.Given || f.Provider.Global != GlobalUnset || f.Spans.Ended > 0 || f.Spans.Running > 0 || f.Labels.Sampled+f.Labels.Unsampled > 0 {
		return nil
	}
	return &Finding{
		ID: ProviderUnset, Severity: Note,
		Seen: "0 spans were started, and no tracer provider is set as the global one, which instrumentations take their tracers from.",
		Do:   "Give what spanprof.NewTracerProvider returned to otel.SetTracerProvider.",
	}
}

// unlabelled returns the tracers of which no span is labelled, how many spans these have,
// and how many spans all tracers have.
func (f *Facts) unlabelled() (names []string, spans, all int64) {
	// Of spans that there was no room for, another check tells.
	if f.Disabled != "" || f.Labels.NoProfileID || f.Labels.NoRoom > 0 {
		return nil, 0, 0
	}
	for _, t := range f.Spans.Tracers {
		all += t.Roots
		if t.Roots > 0 && t.Unlabelled == t.Roots {
			names = append(names, t.Name)
			spans += t.Roots
		}
	}
	return names, spans, all
}

func providerNotWrapped(f *Facts) *Finding {
	_, spans, all := f.unlabelled()
	if spans == 0 || spans < all || f.Labels.Wrappers > 0 {
		return nil
	}
	return &Finding{
		ID: ProviderNotWrapped, Severity: Wrong, Certain: f.enough(spans),
		Seen: count(spans, "local root span") + " ended and none has labels, so no sample can be theirs: package spanprof does not wrap the tracer provider.",
		Do:   "Wrap the SDK's provider by spanprof.NewTracerProvider and give the result to otel.SetTracerProvider and inprocess.Start, or register spanprof.NewSpanProcessor with it.",
	}
}

func providerNotGlobal(f *Facts) *Finding {
	_, spans, all := f.unlabelled()
	if spans == 0 || spans < all || f.Labels.Wrappers == 0 || f.Provider.Global != GlobalInner {
		return nil
	}
	return &Finding{
		ID: ProviderNotGlobal, Severity: Wrong, Certain: f.enough(spans),
		Seen: count(spans, "local root span") + " ended and none has labels, so no sample can be theirs: the global tracer provider is the SDK's own, not the one that wraps it.",
		Do:   "Give what spanprof.NewTracerProvider returned to otel.SetTracerProvider.",
	}
}

func providerOther(f *Facts) *Finding {
	if f.Disabled != "" || !f.Provider.Given || f.Provider.Global != GlobalOtherSDK || f.Spans.Ended > 0 || f.Spans.Running > 0 {
		return nil
	}
	return &Finding{
		ID: ProviderOther, Severity: Note,
		Seen: "0 spans were recorded: the global tracer provider is not the one that was given, nor does the one given wrap it.",
		Do:   "Give inprocess.Start the provider that otel.SetTracerProvider was given.",
	}
}

func tracersBeforeWrap(f *Facts) *Finding {
	names, spans, all := f.unlabelled()
	if spans == 0 || spans == all && (f.Labels.Wrappers == 0 || f.Provider.Global == GlobalInner) {
		return nil
	}
	// A program may keep a few spans without labels on purpose.
	severity := Note
	if spans > all/2 {
		severity = Wrong
	}
	return &Finding{
		ID: TracersBeforeWrap, Severity: severity, Certain: f.enough(spans),
		Seen: fmt.Sprintf("%s of %s local root spans have no labels: all those of %s %s, which were got from the SDK's own provider, not from the wrapper.", number(spans), number(all), plural(len(names), "tracer"), list(names)),
		Do:   "Get tracers from the wrapper, or register spanprof.NewSpanProcessor with the SDK's provider: it labels the spans of tracers that were made before the wrapper.",
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "the " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// fewSampled is the share of spans below which most work is in no profile of a span.
const fewSampled = 0.05

func notSampled(f *Facts) *Finding {
	sampled, unsampled := f.Labels.Sampled, f.Labels.Unsampled
	all := sampled + unsampled
	if f.Disabled != "" || unsampled < 10*enoughSpans || float64(sampled) >= fewSampled*float64(all) {
		return nil
	}
	// A note, as the program or its callers may want it so, by the sampler always_off for one.
	return &Finding{
		ID: NotSampled, Severity: Note,
		Seen: fmt.Sprintf("Of about %s %s were not sampled, and sampled spans alone are labelled.", count(all, "span"), percent(float64(unsampled), float64(all))),
		Do:   "Sample more of them by sdktrace.WithSampler, or name the CPU time of the others by spanprof.WithUnsampledSpanNames.",
	}
}

func namesFull(f *Facts) *Finding {
	if f.Labels.NamesFull == 0 {
		return nil
	}
	return &Finding{
		ID: NamesFull, Severity: Note,
		Seen: fmt.Sprintf("Spans have %d different names, as many as labels tell apart; all further names are labelled \"other\".", f.Labels.NamesFull),
		Do:   "Start spans by the name of their kind, without ids and paths, or raise spanprof.WithSpanNameLimit.",
	}
}

func endsElsewhere(f *Facts) *Finding {
	l := &f.Labels
	if l.EndsElsewhere < enoughSpans || l.EndsElsewhere < l.Sampled/10 {
		return nil
	}
	return &Finding{
		ID: EndsElsewhere, Severity: Note,
		Seen: fmt.Sprintf("%s ended on a goroutine that did not carry their labels (of about %s), and the one they started on may keep them for what it does next.", count(l.EndsElsewhere, "span"), number(max(l.Sampled, l.EndsElsewhere))),
		Do:   "End each span on the goroutine that started it.",
	}
}

func noRoom(f *Facts) *Finding {
	if f.Labels.NoRoom == 0 {
		return nil
	}
	return &Finding{
		ID: NoRoom, Severity: Wrong, Certain: f.Labels.NoRoom >= enoughSpans,
		Seen: count(f.Labels.NoRoom, "span") + " got no labels, as some 60,000 were open, which is what spanprof.NewSpanProcessor remembers.",
		Do:   "End every span, or wrap the provider by spanprof.NewTracerProvider, which has no such bound.",
	}
}

func notEnded(f *Facts) *Finding {
	if f.Spans.RunningLong < enoughSpans {
		return nil
	}
	return &Finding{
		ID: NotEnded, Severity: Note,
		Seen: fmt.Sprintf("%s or more of %s have been running for over %d minutes, and %s have ended.", number(f.Spans.RunningLong), count(f.Spans.Running, "open local root span"), int(f.Spans.Long.Minutes()), number(f.Spans.Ended)),
		Do:   "End each span, by defer span.End() next to its start; spans that are never ended reach no backend.",
	}
}

func publicAPI(f *Facts) *Finding {
	if !f.Labels.PublicAPI {
		return nil
	}
	return &Finding{
		ID: PublicAPI, Severity: Note,
		Seen: "Goroutines are labelled by runtime/pprof's public API alone, which cannot read labels.",
		Do:   "See the documentation of package spanprof for what is weaker then; a release of Go that spanprof is tested with needs no such fallback.",
	}
}

// fewCPU is the share of CPU time in spans below which most of it is other work.
const fewCPU = 0.1

func cpuOutside(f *Facts) *Finding {
	_, spans, all := f.unlabelled()
	labelled := all - spans
	if f.Labels.NoProfileID {
		labelled = f.Spans.Ended
	}
	s := &f.Store
	if !f.enough(labelled) || float64(s.Labelled) >= fewCPU*float64(s.CPU) {
		return nil
	}
	return &Finding{
		ID: CPUOutside, Severity: Note,
		Seen: fmt.Sprintf("%s of %.1f s of CPU time was used in spans: %s had labels, and most work runs outside of them.", percent(float64(s.Labelled), float64(s.CPU)), s.CPU.Seconds(), count(labelled, "local root span")),
		Do:   "Start spans around that work; a worker of a pool has a job's labels by a span of its own or by spanprof.Do, and a new goroutine by spanprof.Go.",
	}
}

func ownRequests(f *Facts) *Finding {
	if f.Spans.Traced == 0 {
		return nil
	}
	return &Finding{
		ID: OwnRequests, Severity: Note,
		Seen: count(f.Spans.Traced, "request") + " for this page came within a span, so the page lists its own requests.",
		Do:   "Mount the handler outside of otelhttp, or leave its path out by otelhttp.WithFilter.",
	}
}

// OwnRequests is the check of requests for the page.
const OwnRequests = "page-lists-itself"
