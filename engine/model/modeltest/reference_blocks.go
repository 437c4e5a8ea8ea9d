package modeltest

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
)

// delta is the gated delta net of spec 2.4 over a whole sequence.
func (r *Reference) delta(us [][]float64, prefix string) [][]float64 {
	cfg := r.cfg
	kd, vd, heads := cfg.KeyDim, cfg.ValueDim, cfg.ValueHeads
	qk := cfg.KeyHeads * kd
	channels := 2*qk + heads*vd
	conv, err := wide(r.p.Conv(prefix+".conv1d", channels, cfg.Conv)) // [taps][channels]
	r.check(err)
	rate, bias, norm := r.vector(prefix+".A_log", heads), r.vector(prefix+".dt_bias", heads), r.vector(prefix+".norm", vd)
	var pre [][]float64
	state := make([][]float64, heads) // [key*vd + value]
	for h := range state {
		state[h] = make([]float64, kd*vd)
	}
	ys := make([][]float64, len(us))
	for t, u := range us {
		pre = append(pre, mul(r.w(prefix+".in_proj_qkv", channels, cfg.Hidden), u))
		row := make([]float64, channels)
		for ch := range row {
			for j := range cfg.Conv {
				if at := t - (cfg.Conv - 1) + j; at >= 0 {
					row[ch] += conv[j*channels+ch] * pre[at][ch]
				}
			}
			row[ch] = silu(row[ch])
		}
		z := mul(r.w(prefix+".in_proj_z", heads*vd, cfg.Hidden), u)
		b := mul(r.w(prefix+".in_proj_b", heads, cfg.Hidden), u)
		a := mul(r.w(prefix+".in_proj_a", heads, cfg.Hidden), u)
		var o []float64
		for h := range heads {
			kh := h / (heads / cfg.KeyHeads)
			q, k := unit(row[kh*kd:(kh+1)*kd]), unit(row[qk+kh*kd:qk+(kh+1)*kd])
			v := row[2*qk+h*vd : 2*qk+(h+1)*vd]
			decay := math.Exp(-math.Exp(rate[h]) * math.Log1p(math.Exp(a[h]+bias[h])))
			s := state[h]
			for i := range s {
				s[i] *= decay
			}
			out := make([]float64, vd)
			for j := range vd {
				predicted := 0.0
				for i := range kd {
					predicted += s[i*vd+j] * k[i]
				}
				d := sigmoid(b[h]) * (v[j] - predicted)
				for i := range kd {
					s[i*vd+j] += k[i] * d
					out[j] += s[i*vd+j] * q[i] / math.Sqrt(float64(kd))
				}
			}
			out = rms(out, norm, 1, float64(cfg.Eps))
			for j := range out {
				g := z[h*vd+j]
				if cfg.GateSilu {
					out[j] *= silu(g)
				} else {
					out[j] *= sigmoid(g)
				}
			}
			o = append(o, out...)
		}
		ys[t] = mul(r.w(prefix+".out_proj", cfg.Hidden, heads*vd), o)
	}
	return ys
}

func unit(x []float64) []float64 {
	sum := 1e-6
	for _, v := range x {
		sum += v * v
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v / math.Sqrt(sum)
	}
	return y
}

// rope rotates pairs (i, i+half) of the first dimensions.
func (r *Reference) rope(x []float64, pos int, theta float64) []float64 {
	half := int(float64(r.cfg.HeadDim)*r.cfg.Rope.PartialFactor) / 2
	y := slices.Clone(x)
	for i := range half {
		angle := float64(pos) * math.Pow(theta, -2*float64(i)/float64(2*half))
		sin, cos := math.Sincos(angle)
		y[i] = x[i]*cos - x[i+half]*sin
		y[i+half] = x[i+half]*cos + x[i]*sin
	}
	return y
}

// attention is spec 2.5 over a whole sequence; it also returns the blocks chosen at each position.
func (r *Reference) attention(us [][]float64, prefix string, theta float64) (ys [][]float64, chosen [][]int) {
	cfg := r.cfg
	dim, eps, id := cfg.HeadDim, float64(cfg.Eps), cfg.IndexDim
	qn, kn := r.norm(prefix+".q_norm", dim), r.norm(prefix+".k_norm", dim)
	iqn, ikn := r.norm(prefix+".indexer.q_layernorm", id), r.norm(prefix+".indexer.k_layernorm", id)
	var ks, vs, raw, pooled [][]float64
	for t, u := range us {
		k := mul(r.w(prefix+".k_proj", cfg.KVHeads*dim, cfg.Hidden), u)
		for h := range cfg.KVHeads {
			copy(k[h*dim:], r.rope(rms(k[h*dim:(h+1)*dim], kn, 1, eps), t, theta))
		}
		ks = append(ks, k)
		vs = append(vs, mul(r.w(prefix+".v_proj", cfg.KVHeads*dim, cfg.Hidden), u))
		index := mul(r.w(prefix+".indexer.index_qk_proj", (cfg.IndexHeads+1)*id, cfg.Hidden), u)
		raw = append(raw, index[cfg.IndexHeads*id:])
		if (t+1)%cfg.IndexRatio == 0 {
			mean := make([]float64, id)
			first := t + 1 - cfg.IndexRatio
			for _, row := range raw[first:] {
				for i, v := range row {
					mean[i] += v / float64(cfg.IndexRatio)
				}
			}
			pooled = append(pooled, r.rope(rms(mean, ikn, 1, eps), first, theta))
		}
		score := make([]float64, len(pooled))
		for h := range cfg.IndexHeads {
			q := r.rope(rms(index[h*id:(h+1)*id], iqn, 1, eps), t, theta)
			for b := range pooled {
				dot := 0.0
				for i := range q {
					dot += q[i] * pooled[b][i]
				}
				score[b] += max(dot, 0)
			}
		}
		blocks := choose(score, cfg.IndexBudget/cfg.IndexRatio)
		chosen = append(chosen, blocks)
		var tokens []int
		for _, b := range blocks {
			for i := range cfg.IndexRatio {
				tokens = append(tokens, b*cfg.IndexRatio+i)
			}
		}
		for i := len(pooled) * cfg.IndexRatio; i <= t; i++ {
			tokens = append(tokens, i)
		}
		qg := mul(r.w(prefix+".q_proj", cfg.Heads*2*dim, cfg.Hidden), u)
		var out []float64
		for h := range cfg.Heads {
			kv := h / (cfg.Heads / cfg.KVHeads) * dim
			q := r.rope(rms(qg[h*2*dim:h*2*dim+dim], qn, 1, eps), t, theta)
			p := make([]float64, len(tokens))
			for i, at := range tokens {
				for j := range q {
					p[i] += q[j] * ks[at][kv+j]
				}
				p[i] /= math.Sqrt(float64(dim))
			}
			top, sum := slices.Max(p), 0.0
			for i := range p {
				p[i] = math.Exp(p[i] - top)
				sum += p[i]
			}
			o := make([]float64, dim)
			for i, at := range tokens {
				for j := range o {
					o[j] += p[i] / sum * vs[at][kv+j]
				}
			}
			for j := range o {
				o[j] *= sigmoid(qg[h*2*dim+dim+j])
			}
			out = append(out, o...)
		}
		ys = append(ys, mul(r.w(prefix+".o_proj", cfg.Hidden, cfg.Heads*dim), out))
	}
	return ys, chosen
}

// choose is the ids of the top scores, ascending; the lowest id wins a tie.
func choose(score []float64, top int) []int {
	ids := make([]int, len(score))
	for i := range ids {
		ids[i] = i
	}
	slices.SortStableFunc(ids, func(a, b int) int {
		switch {
		case score[a] > score[b]:
			return -1
		case score[a] < score[b]:
			return 1
		}
		return a - b
	})
	ids = ids[:min(top, len(ids))]
	slices.Sort(ids)
	return ids
}

// plane is the PLE of spec 2.7 for the k-th PLE layer, added to all streams.
func (r *Reference) plane(xs [][]float64, tokens []int32, prefix string, k int) {
	cfg := r.cfg
	w, h, eps := cfg.Streams*cfg.Hidden, cfg.Hidden, float64(cfg.Eps)
	nk, nq, nc := r.norm(prefix+".norm_key", w), r.norm(prefix+".norm_query", w), r.norm(prefix+".norm_conv", w)
	conv, err := wide(r.p.Conv(prefix+".conv1d", w, cfg.PLEConv))
	r.check(err)
	ids := r.rows(tokens, k)
	var gns [][]float64
	for t, x := range xs {
		var e []float64
		for _, id := range ids[t] {
			e = append(e, r.tableRow(k, id)...)
		}
		key := rms(mul(r.w(prefix+".key_proj", w, cfg.PLEDim), e), nk, cfg.Streams, eps)
		value := mul(r.w(prefix+".value_proj", h, cfg.PLEDim), e)
		query := rms(x, nq, cfg.Streams, eps)
		gv := make([]float64, w)
		for s := range cfg.Streams {
			a := 0.0
			for i := s * h; i < (s+1)*h; i++ {
				a += key[i] * query[i]
			}
			a /= math.Sqrt(float64(h))
			root := math.Sqrt(max(math.Abs(a), 1e-6))
			switch {
			case a > 0:
				a = root
			case a < 0:
				a = -root
			}
			for i := range h {
				gv[s*h+i] = sigmoid(a) * value[i]
			}
		}
		gns = append(gns, rms(gv, nc, cfg.Streams, eps))
		for i := range x {
			cv := 0.0
			for j := range cfg.PLEConv {
				if at := t - cfg.NgramSize*(cfg.PLEConv-1-j); at >= 0 {
					cv += conv[j*w+i] * gns[at][i]
				}
			}
			x[i] += gv[i] + silu(cv)
		}
	}
}

// tableRow is a row of the k-th n-gram table.
func (r *Reference) tableRow(k int, id int64) []float64 {
	spec, err := r.p.NgramTable(k)
	r.check(err)
	per := spec.Rows / int64(len(spec.Shards))
	plane := spec.Shards[id/per].Weight
	row := make([]byte, plane.Len/spec.Shards[id/per].Rows)
	if at := id % per * int64(len(row)); plane.Data != nil {
		copy(row, plane.Data[at:])
	} else if _, err := plane.File.ReadAt(row, plane.Off+at); err != nil {
		r.t.Fatal(err)
	}
	return decode(row, spec.Format)
}

// rows is the table row ids of every position (spec 2.7.1, 2.7.2).
func (r *Reference) rows(tokens []int32, k int) [][]int64 {
	cfg := r.cfg
	split := func(v uint64) uint64 {
		v += 0x9E3779B97F4A7C15
		v = (v ^ v>>30) * 0xBF58476D1CE4E5B9
		v = (v ^ v>>27) * 0x94D049BB133111EB
		return v ^ v>>31
	}
	half := uint64(math.MaxInt64) / uint64(cfg.Vocab) / 2
	m := make([]uint64, cfg.NgramSize)
	for j := range m {
		m[j] = 2*(split(cfg.NgramSeed+10007*uint64(k)+0x9E3779B97F4A7C15*uint64(j+1))%half) + 1
	}
	var sizes, offsets []int64
	prime, off := cfg.NgramBase-1, int64(0)
	for i := range (k + 1) * cfg.NgramHeads() {
		for prime++; !big.NewInt(prime).ProbablyPrime(20); prime++ {
		}
		if i >= k*cfg.NgramHeads() {
			sizes, offsets = append(sizes, prime), append(offsets, off)
			off += prime
		}
	}
	out := make([][]int64, len(tokens))
	for p := range tokens {
		_, mix := bits.Mul64(uint64(tokens[p]), m[0])
		cut := false
		for j := 1; j < cfg.NgramSize; j++ {
			t := cfg.NgramEOS
			if p-j < 0 || tokens[p-j] == cfg.NgramEOS {
				cut = true
			}
			if !cut {
				t = tokens[p-j]
			}
			mix ^= uint64(t) * m[j]
			for i := range cfg.HeadsPerNgram {
				at := (j-1)*cfg.HeadsPerNgram + i
				out[p] = append(out[p], int64(mix%uint64(sizes[at]))+offsets[at])
			}
		}
	}
	return out
}
