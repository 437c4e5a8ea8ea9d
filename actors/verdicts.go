package actors

import (
	"encoding/json"
	"fmt"

	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/model/block"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/qsa"
)

// pending is how many windows of one sequence may be under way: the one a pass waits for and one ahead of it.
const pending = 2

// verdicts runs the lanes' install checks (design, section 5). An error fails the load.
func verdicts(c Config) (map[lanes.Lane]lanes.Verdict, error) {
	p, err := ple.Check(pleModel(c.Model), c.Model.PLE)
	if err != nil {
		return nil, fmt.Errorf("actors: %w", err)
	}
	q, err := qsa.Check(qsaModel(c.Model), c.Model.Indexers)
	if err != nil {
		return nil, fmt.Errorf("actors: %w", err)
	}
	out := map[lanes.Lane]lanes.Verdict{
		lanes.PLE: {Installed: p.Installed, Reason: p.Reason, Report: report(p.Report)},
		lanes.QSA: {Installed: q.Installed, Reason: q.Reason, Report: report(q.Report)},
	}
	if v := out[lanes.PLE]; v.Installed {
		v.Report["mode"] = string(c.PLEMode)
		if c.PLEMode == Stock {
			v.Installed, v.Reason = false, "--ple-mode stock"
		}
		out[lanes.PLE] = v
	}
	return out, nil
}

// report is a verdict's report as a map, under the names of its JSON tags.
func report(v any) map[string]any {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("actors: a lane report does not marshal: " + err.Error())
	}
	m := map[string]any{}
	if err := json.Unmarshal(raw, &m); err != nil {
		panic("actors: a lane report is no object: " + err.Error())
	}
	return m
}

func pleModel(m *model.Model) ple.Model {
	c := m.Config
	out := ple.Model{Layers: c.PLELayers, Hidden: c.Hidden, Streams: c.Streams, Eps: c.Eps, Pending: pending}
	for range c.PLELayers {
		out.Geometry = append(out.Geometry, c.NgramGeometry())
	}
	return out
}

func qsaModel(m *model.Model) qsa.Model {
	out := qsa.Model{Geometry: block.IndexGeometry(&m.Config), Freq: m.Freq, RopeScale: m.Freq.Scale()}
	for _, l := range m.Layers {
		if l.Attention == nil {
			continue
		}
		out.Layers = append(out.Layers, l.Index)
		out.Norms = append(out.Norms, l.Attention.Indexer.Norm)
	}
	return out
}
