// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"net/url"
	"runtime/pprof"
	"strconv"
	"strings"
	"unicode"
)

// baselineQuery returns the escaped query of the span's baseline: its labels except
// for the ids, and the configured ones.
func (l *links) baselineQuery(s *spanState) string {
	if !s.by.labeler.hasUserLabels(s) {
		return l.baselineOf(s.by.labeler.name(s))
	}
	var selectors strings.Builder
	pprof.ForLabels(&s.ctx, func(key, value string) bool {
		if key == LabelSpanName || !isSpanLabel(key) {
			l.writeLabel(&selectors, key, value)
		}
		return true
	})
	return l.query(selectors.String())
}

// baselineOf returns the escaped query of the baseline of a span without labels
// of the user's.
func (l *links) baselineOf(name string) string {
	if query, ok := l.baselines.get(name); ok {
		return query
	}
	var selectors strings.Builder
	if name != "" {
		l.writeLabel(&selectors, LabelSpanName, name)
	}
	query := l.query(selectors.String())
	l.baselines.add(name, query)
	return query
}

func (l *links) query(selectors string) string {
	query := l.selector + url.QueryEscape(selectors)
	if selectors != "" && l.extra != "" {
		query += "%2C"
	}
	return query + l.extra + "%7D"
}

// writeLabel writes a label of the span's, unless the configuration has its say
// on that label.
func (l *links) writeLabel(b *strings.Builder, key, value string) {
	if _, ok := l.config.baselineLabels[key]; !ok {
		writeSelector(b, key, value)
	}
}

// isLabelName reports whether a query can name a label. A baseline without the
// other labels is a wider one, a query that names them an error.
func isLabelName(key string) bool {
	return key != "" && !strings.ContainsAny(key, "=!~,{}\"`") && !strings.ContainsFunc(key, unicode.IsSpace)
}

func writeSelector(b *strings.Builder, key, value string) {
	if !isLabelName(key) {
		return
	}
	if b.Len() > 0 {
		b.WriteByte(',')
	}
	b.WriteString(key)
	b.WriteByte('=')
	b.WriteString(strconv.Quote(value))
}
