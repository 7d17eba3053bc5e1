// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

func newJSON(w *bytes.Buffer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}})
}

// under puts the span of ctx into the context of each record.
type under struct {
	slog.Handler
	ctx context.Context //nolint:containedctx // slogtest logs without one
}

func (h under) Handle(_ context.Context, r slog.Record) error {
	return h.Handler.Handle(h.ctx, r)
}

func (h under) WithAttrs(attrs []slog.Attr) slog.Handler {
	return under{h.Handler.WithAttrs(attrs), h.ctx}
}

func (h under) WithGroup(name string) slog.Handler { return under{h.Handler.WithGroup(name), h.ctx} }

// TestLogHandlerIsAHandler runs slog's own checks under a span.
func TestLogHandlerIsAHandler(t *testing.T) {
	ctx, span := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test").Start(t.Context(), "root")
	defer span.End()
	var buf bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		buf.Reset()
		return under{spanprof.NewLogHandler(slog.NewJSONHandler(&buf, nil)), ctx}
	}, func(t *testing.T) (got map[string]any) {
		if err := json.Unmarshal(buf.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		return got
	})
}

func TestLogHandler(t *testing.T) {
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	ctx, root := tp.Tracer("test").Start(t.Context(), "root")
	defer root.End()
	childCtx, child := tp.Tracer("test").Start(ctx, "child")
	defer child.End()
	never := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
	neverCtx, unsampled := never.Tracer("test").Start(t.Context(), "unsampled")
	defer unsampled.End()
	manual := pprof.WithLabels(t.Context(), pprof.Labels("profile_id", "job 7"))

	sc := root.SpanContext()
	rootIDs := map[string]any{"trace_id": sc.TraceID().String(), "span_id": sc.SpanID().String(), "profile_id": sc.SpanID().String()}
	childIDs := map[string]any{"trace_id": sc.TraceID().String(), "span_id": child.SpanContext().SpanID().String(), "profile_id": sc.SpanID().String()}
	with := func(ids map[string]any, more map[string]any) map[string]any {
		all := map[string]any{"msg": "m"}
		for _, m := range []map[string]any{ids, more} {
			maps.Copy(all, m)
		}
		return all
	}
	for _, test := range []struct {
		name    string
		ctx     context.Context
		options []spanprof.LogOption
		log     func(*slog.Logger) *slog.Logger
		want    map[string]any
	}{
		{"no span", t.Context(), nil, nil, with(nil, nil)},
		{"local root", ctx, nil, nil, with(rootIDs, nil)},
		{"child", childCtx, nil, nil, with(childIDs, nil)},
		{"not sampled", neverCtx, nil, nil, with(map[string]any{
			"trace_id": unsampled.SpanContext().TraceID().String(), "span_id": unsampled.SpanContext().SpanID().String(),
		}, nil)},
		{"labels of the program's", manual, nil, nil, with(map[string]any{"profile_id": "job 7"}, nil)},
		{"for a handler with span ids", ctx, []spanprof.LogOption{spanprof.WithoutLogSpanIDs(), nil}, nil, with(map[string]any{"profile_id": rootIDs["profile_id"]}, nil)},
		{"links without URLs", ctx, []spanprof.LogOption{spanprof.WithLogLinks()}, nil, with(rootIDs, nil)},
		{"groups", ctx, nil, func(l *slog.Logger) *slog.Logger {
			return l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("").WithGroup("h")
		}, with(rootIDs, map[string]any{"a": 1.0, "g": map[string]any{"b": 2.0, "h": map[string]any{"c": 3.0}}})},
	} {
		t.Run(test.name, func(t *testing.T) {
			var buf bytes.Buffer
			logger := slog.New(spanprof.NewLogHandler(newJSON(&buf), test.options...))
			if test.log != nil {
				logger = test.log(logger)
				logger.InfoContext(test.ctx, "m", "c", 3)
			} else {
				logger.InfoContext(test.ctx, "m")
			}
			var got map[string]any
			if err := json.Unmarshal(buf.Bytes(), &got); err != nil {
				t.Fatalf("%q: %v", buf.String(), err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// TestLogLinks sees that a record's link opens what the span's attribute opens.
func TestLogLinks(t *testing.T) {
	var buf bytes.Buffer
	logger := slog.New(spanprof.NewLogHandler(newJSON(&buf), spanprof.WithLogLinks()))
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(),
		spanprof.WithPyroscopeURL("http://localhost:4040"), spanprof.WithProfileURL(true), spanprof.WithAppName("shop"))
	ctx, root := tp.Tracer("test").Start(t.Context(), "root")
	childCtx, child := tp.Tracer("test").Start(ctx, "child")
	logger.InfoContext(childCtx, "m")
	child.End()
	root.End()
	logger.InfoContext(ctx, "m")

	attribute := attributes(root.(sdktrace.ReadOnlySpan))[attributeProfileURL]
	var links []string
	for line := range strings.Lines(buf.String()) {
		var record struct {
			URL string `json:"profile_url"`
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		links = append(links, record.URL)
	}
	before, _, _ := strings.Cut(attribute, "&until=")
	if len(links) != 2 || !strings.HasPrefix(links[0], before+"&until=") {
		t.Errorf("links %q, attribute %q", links, attribute)
	}
	// The attribute is made just before the SDK takes the end.
	if after, _, _ := strings.Cut(links[1], "&until="); after != before {
		t.Errorf("after the end: link %q, attribute %q", links[1], attribute)
	}
}

func TestLogHandlerLeavesRecordsAlone(t *testing.T) {
	var buf bytes.Buffer
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	ctx, span := tp.Tracer("test").Start(t.Context(), "root")
	defer span.End()
	record := slog.Record{Message: "m"}
	record.Add("a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6)
	for range 2 {
		if err := spanprof.NewLogHandler(newJSON(&buf)).Handle(ctx, record); err != nil {
			t.Fatal(err)
		}
	}
	if record.NumAttrs() != 6 || strings.Count(buf.String(), "profile_id") != 2 {
		t.Errorf("%d attributes; %s", record.NumAttrs(), buf.String())
	}
}

// TestDefaultLogHandler makes a handler of nothing the default of slog and of log.
func TestDefaultLogHandler(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it is read by its name
	stderr, logger, output, flags := os.Stderr, slog.Default(), log.Writer(), log.Flags()
	os.Stderr = file
	t.Cleanup(func() {
		os.Stderr = stderr
		slog.SetDefault(logger)
		log.SetOutput(output)
		log.SetFlags(flags)
	})
	slog.SetDefault(slog.New(spanprof.NewLogHandler(nil)))
	ctx, span := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test").Start(t.Context(), "root")
	defer span.End()
	slog.InfoContext(ctx, "by slog")
	log.Print("by log")
	written, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`msg="by slog" trace_id=` + span.SpanContext().TraceID().String(), `msg="by log"`} {
		if !strings.Contains(string(written), want) {
			t.Errorf("no %s in\n%s", want, written)
		}
	}
}

// A record has the profile and link of the span that has labels: none if spans are not labelled by a
// TracerProvider. The link is by the options of that span's provider.
func TestLogHandlerOfProviders(t *testing.T) {
	linked := linkTo("https://p.example/")
	wrap := func(options ...spanprof.Option) trace.TracerProvider {
		return spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), options...)
	}
	processor := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor(linked)))
	plain, linking, all := wrap(), wrap(linked), wrap(linked, spanprof.WithRootSpanOnly(false))
	baseline := wrap(spanprof.WithPyroscopeURL("http://localhost:4040"), spanprof.WithProfileBaselineURL(true))
	t.Setenv("SPANPROF_DISABLED", "true")
	disabled := wrap(linked)
	for _, test := range []struct {
		name        string
		root, child trace.TracerProvider // of the spans
		profiled    string               // "" for none
		linked      bool
	}{
		{"disabled", disabled, disabled, "", false},
		{"SpanProcessor", processor, processor, "", false},
		{"all spans", all, all, "child", true},
		{"root without URLs", plain, linking, "root", false},
		{"root with a baseline alone", baseline, linking, "root", false},
		{"child without URLs", linking, plain, "root", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var buf bytes.Buffer
			ctx, root := test.root.Tracer("test").Start(t.Context(), "root")
			defer root.End()
			ctx, child := test.child.Tracer("test").Start(ctx, "child")
			defer child.End()
			slog.New(spanprof.NewLogHandler(newJSON(&buf), spanprof.WithLogLinks())).InfoContext(ctx, "m")
			want := map[string]any{"msg": "m", "trace_id": child.SpanContext().TraceID().String(), "span_id": child.SpanContext().SpanID().String()}
			for name, span := range map[string]trace.Span{"root": root, "child": child} {
				if id := span.SpanContext().SpanID().String(); name == test.profiled {
					want["profile_id"] = id
					if test.linked {
						want["profile_url"] = "https://p.example/" + id
					}
				}
			}
			var got map[string]any
			if err := json.Unmarshal(buf.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}
