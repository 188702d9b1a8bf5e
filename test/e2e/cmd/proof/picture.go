package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/e2e/internal/record"
)

// The picture's measures, in pixels.
const (
	width     = 960
	margin    = 8
	labels    = 150
	rowHeight = 26
	barHeight = 18
	top       = 34
	legend    = 40
	fontSize  = 12
)

// ticks is how many marks the axis of time has at most.
const ticks = 12

// colors are the fills of a state, by its beginning or end.
var colors = []struct{ part, fill, meaning string }{
	{"uninitialized", "#c9190b", "tainted as uninitialized"},
	{"Ready", "#3e8635", "CCM Ready"},
	{"revision", "#f0ab00", "static pod, not Ready"},
	{"", "#2b6cb0", "holder of the lease"},
}

// draw draws a rollout: a row for each static pod, taint and the lease, over time.
func draw(out io.Writer, rollout *record.Rollout) {
	tracks := tracksOf(rollout)
	var end time.Duration
	for _, span := range rollout.Spans {
		end = max(end, time.Duration(span.To))
	}
	height := top + rowHeight*len(tracks) + legend
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" `+
		`font-family="sans-serif" font-size="%d">`+"\n", width, height, fontSize)
	fmt.Fprintf(out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	x := func(at time.Duration) float64 { return labels + (width-labels-fontSize)*at.Seconds()/end.Seconds() }
	drawAxis(out, end, x, top+rowHeight*len(tracks))
	for i, track := range tracks {
		y := top + rowHeight*i
		text(out, margin, y+barHeight-4, track)
		for _, span := range rollout.Spans {
			if short(span.Track) == track {
				drawBar(out, span, x, y)
			}
		}
	}
	drawLegend(out, height-legend/2)
	fmt.Fprintln(out, "</svg>")
}

// tracksOf returns the rows from the top: the lease, the taints, the pods.
func tracksOf(rollout *record.Rollout) []string {
	var tracks []string
	for _, span := range rollout.Spans {
		if name := short(span.Track); !slices.Contains(tracks, name) {
			tracks = append(tracks, name)
		}
	}
	kinds := []string{"lease", "taint", "pod"}
	rank := func(track string) int {
		return slices.IndexFunc(kinds, func(kind string) bool { return strings.HasPrefix(track, kind) })
	}
	slices.SortStableFunc(tracks, func(a, b string) int { return rank(a) - rank(b) })
	return tracks
}

// short leaves the name of the cluster out of a node's name.
func short(track string) string {
	before, node, found := strings.Cut(track, "-master-")
	if !found {
		return track
	}
	return before[:strings.LastIndex(before, " ")+1] + "master-" + node
}

func drawAxis(out io.Writer, end time.Duration, x func(time.Duration) float64, bottom int) {
	step := 5 * time.Second
	for end/step > ticks {
		step *= 2
	}
	for at := time.Duration(0); at <= end; at += step {
		fmt.Fprintf(out, `<line x1="%.1f" y1="%d" x2="%.1[1]f" y2="%[3]d" stroke="#d2d2d2"/>`+"\n", x(at), top-6, bottom)
		fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%.0f s</text>`+"\n", x(at), top-14, at.Seconds())
	}
}

func drawBar(out io.Writer, span record.Span, x func(time.Duration) float64, y int) {
	from, to := x(time.Duration(span.From)), x(time.Duration(span.To))
	fmt.Fprintf(out, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" rx="2"><title>%s</title></rect>`+"\n",
		from, y, math.Max(1, to-from), barHeight, colorOf(span.State), escape(short(span.State)))
	label := strings.TrimSuffix(short(span.State), ", Ready")
	// Half of the font's height is about the mean width of a letter.
	if float64(len(label)*fontSize)/2 < to-from-4 {
		fmt.Fprintf(out, `<text x="%.1f" y="%d" fill="#ffffff">%s</text>`+"\n", from+4, y+barHeight-5, escape(label))
	}
}

func colorOf(state string) string {
	for _, c := range colors {
		if strings.HasPrefix(state, c.part) && c.part != "Ready" || c.part == "Ready" && strings.HasSuffix(state, c.part) {
			return c.fill
		}
	}
	return ""
}

func drawLegend(out io.Writer, y int) {
	x := labels
	for _, c := range colors {
		fmt.Fprintf(out, `<rect x="%d" y="%d" width="10" height="10" fill="%s"/>`+"\n", x, y-9, c.fill)
		text(out, x+14, y, c.meaning)
		x += 200
	}
}

func text(out io.Writer, x, y int, content string) {
	fmt.Fprintf(out, `<text x="%d" y="%d">%s</text>`+"\n", x, y, escape(content))
}

func escape(content string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(content)) // A Builder accepts everything.
	return b.String()
}
