// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

const (
	series   = 500
	samples  = 240
	interval = 15 * time.Second
)

// slowQuery looks at all samples many times over; the quick ones look at one series.
const slowQuery = `sum by (path) (rate(http_requests_total[30m]))`

func quickQuery(n int) string {
	return fmt.Sprintf(`http_requests_total{instance="host-%d"}`, n)
}

// database is a Prometheus without its web server.
type database struct {
	*tsdb.DB
	engine *promql.Engine
	start  time.Time
}

// open makes a database with an hour of samples.
func open(ctx context.Context, dir string) (*database, error) {
	db, err := tsdb.Open(dir, nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return nil, err
	}
	d := &database{
		DB:     db,
		engine: promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute}),
		start:  time.Now().Add(-time.Hour).Truncate(interval),
	}
	app := db.Appender(ctx)
	for n := range series {
		of := labels.FromStrings("__name__", "http_requests_total", "instance", fmt.Sprint("host-", n), "path", fmt.Sprint("/", n%10))
		for i := range samples {
			if _, err := app.Append(0, of, d.start.Add(time.Duration(i)*interval).UnixMilli(), float64(i*n)); err != nil {
				return nil, err
			}
		}
	}
	return d, app.Commit()
}

// serve answers 20 quick queries and the slow one.
func (d *database) serve(ctx context.Context) error {
	for n := range 21 {
		query := quickQuery(n)
		if n == 10 {
			query = slowQuery
		}
		if err := d.request(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

// request answers one query as Prometheus does: the server's span says nothing of the
// query, which the engine writes on the span in its context, a child.
func (d *database) request(ctx context.Context, query string) error {
	tracer := otel.Tracer("github.com/spanprof/spanprof/internal/integration/prometheus")
	ctx, server := tracer.Start(ctx, "GET /api/v1/query_range", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", "GET"), attribute.String("http.route", "/api/v1/query_range")))
	defer server.End()
	ctx, child := tracer.Start(ctx, "query")
	defer child.End()
	q, err := d.engine.NewRangeQuery(ctx, d, nil, query, d.start, d.start.Add(time.Hour), interval)
	if err != nil {
		return err
	}
	defer q.Close()
	return q.Exec(ctx).Err
}
