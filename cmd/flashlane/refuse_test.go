package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusedBeforeWork: an option that would be ignored, or be refused by something later, is refused by name before anything is
// started or measured.
func TestRefusedBeforeWork(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "no", "x")
	const url = "http://127.0.0.1:1" // nobody listens: whoever gets as far fails otherwise
	for _, c := range []struct{ line, says string }{
		{"bench decode --depth=9", "--depth: got 9, want 0 to 7"},
		{"bench decode --depth=-1", "--depth: got -1, want 0 to 7"},
		{"bench decode --repeat=0", "--repeat: got 0"},
		{"bench decode --prefill-chunk 99999", "--prefill-chunk: got 99999, want 1 to 16384"},
		{"bench perplexity --text refuse_test.go --prefill-chunk 99999", "--prefill-chunk: got 99999, want 1 to 16384"},
		{"logits --ids 1 --prefill-chunk 99999", "--prefill-chunk: got 99999, want 1 to 16384"},
		{"bench decode --out " + nowhere, "--out: nothing can be written to the folder " + filepath.Dir(nowhere)},
		{"bench load --out " + nowhere, "--out: nothing can be written"},
		{"bench abba --out " + nowhere, "--out: nothing can be written"},
		{"bench pair depth=0 depth=1 --out " + nowhere, "--out: nothing can be written"},
		{"bench perplexity --text refuse_test.go --out " + nowhere, "--out: nothing can be written"},
		{"logits --ids 1 --out " + nowhere, "--out: nothing can be written"},
		{"bench perplexity --text refuse_test.go --text nowhere", "--text: open nowhere"},
		{"bench perplexity --text refuse_test.go --note x", "--note: it goes into the files of --out"},
		{"bench abba --url " + url + " --seeds 1,2,1", "seed 1 twice"},
		{"bench pair --url " + url + " depth=0 depth=1 --seeds 1,1", "seed 1 twice"},
		{"bench abba --url " + url + " --output 1", "output of 1"},
		{"bench abba --url " + url + " --warm=-1", "-1 warm-ups"},
		{"bench abba --url " + url + " --lanes no_such_lane", "no_such_lane"},
		{"bench abba --ple-modes --lanes qsa_pooled_rowsel", "--lanes: it does not go with --ple-modes"},
		{"bench abba --ple-modes --ple-mode sync", "--ple-mode: it does not go with --ple-modes"},
		{"bench abba --quiet 0 --retries 2", "--retries: with --quiet 0"},
		{"bench abba --cold", "give a pack in a folder by --model"},
		{"bench abba --cold --model " + nanoFolder + " --ngram-placement memory", "want mmap or file"},
		{"bench pair --url " + url + " depth=0 depth=9", `setting "depth=9": depth: got "9", want 0 to 7`},
		{"bench pair --url " + url + " acceptance=coupled acceptance=greedy", "want coupled or residual"},
		{"bench pair --url " + url + " top-p=1.5 top-p=1", `got "1.5", want 0 to 1`},
		{"bench pair precision=exact precision=foo", `setting "precision=foo": --precision: cpu: precision: got "foo"`},
		{"bench pair prefill-chunk=1 prefill-chunk=0", `setting "prefill-chunk=0": --prefill-chunk: got 0`},
		{"bench pair max-active=1 max-active=0", `setting "max-active=0": --max-active 0`},
		{"bench pair context=64 context=99999", `setting "context=99999": --context: got 99999`},
		{"bench pair memory-limit=1GiB memory-limit=x", `setting "memory-limit=x": --memory-limit: got "x"`},
		{"bench pair model=" + nanoFolder + " model=/nonexist", `setting "model=/nonexist": pack /nonexist: no such folder`},
		{"bench abba --ple-mode stock --prompt 64 --output 8 --quiet 0", "arm a wants lane ple_cached_aux on"},
		{"bench abba --ban 999999 --prompt 64 --output 8 --quiet 0", "--ban: got 999999, want token ids below 8192"},
		{"bench abba --fixed-depth --adaptive-depth", "--fixed-depth: depth is fixed here unless"},
		{"bench abba --fixed-depth=false", "--fixed-depth: depth is fixed here unless"},
		{"bench abba --seed 5", "--seed: every request has one of --seeds"},
		{"bench abba --disable-optimization all", "switches lane ple_cached_aux off, and arm a puts it on"},
		{"bench abba --ple-modes --disable-optimization ple_cached_aux", "lane ple_cached_aux off, and arm sync puts it on"},
		{"bench abba --lanes ple_cached_aux,ple_cached_aux", `lane "ple_cached_aux" twice`},
		{"bench pair qsa_pooled_rowsel=off qsa_pooled_rowsel=on --disable-optimization all", "lane qsa_pooled_rowsel off, and arm qsa_pooled_rowsel=on puts it on"},
		{"bench pair depth=0,depth=1 depth=3", `setting "depth=0,depth=1": depth twice`},
		{"bench pair help=true depth=3", `setting "help=true": help is no setting`},
		{"bench pair seed=5 seed=6", `setting "seed=5": seed: every request has one of --seeds`},
		{"bench load --url " + url + " --temperature 3", `--temperature: got "3", want 0 to 2`},
		{"bench load --url " + url + " --threads 1", "--threads: it is of a server that is started for the measurement"},
		{"bench load --url " + url + " --clients 0", "--clients: got 0"},
		{"bench load --url " + url + " --rate 0", "--rate: got 0"},
		{"bench load --url " + url + " --rate 5,+Inf", "--rate: got +Inf"},
		{"bench load --url " + url + " --rate NaN", "--rate: got NaN"},
		{"bench load --url " + url + " --rate 1e-300", "--rate: got 1e-300"},
		{"bench load --url " + url + " --temperature NaN", `--temperature: got "NaN"`},
		{"bench load --url " + url + " --prefix-shared NaN", "--prefix-shared: got NaN"},
		{"bench abba --quiet inf", "quiet: got a share of +Inf"},
		{"bench load --clients 1 --requests 1 --prompt 20 --output 2 --long-prompt 5000", "--long-prompt: a prompt of 5000"},
		{"bench load --url " + url + " --prefix-shared 2", "--prefix-shared: got 2"},
		{"bench load --url " + url + " --streams 3", "--streams: it is of --long-prompt"},
		{"bench load --url " + url + " --long-prompt 99 --requests 3", "--requests: it is of --clients and --rate"},
		{"bench load --api-key secret", "--api-key: it is the key of a server at --url"},
		{"generate --cache-size 5MiB hi", "--cache-size: it is of --cache-dir"},
		{"generate --cache-dir x --prefix-cache 0 hi", "--prefix-cache 0 turns it off"},
		{"generate --temperature 3 hi", "--temperature: got 3, want 0 to 2"},
		{"serve --key-rate 5", "limits per key need --api-key-file"},
		{"replay --seed 3 nowhere", "--seed: the response says it"},
	} {
		stdout, stderr, code := runProgram(t, strings.Fields(c.line)...)
		if code == 0 || !strings.Contains(stderr, c.says) || stdout != "" || strings.Contains(stderr, "tok/s") {
			t.Errorf("%s: exit %d, printed %.60q, said %q; want one that says %q", c.line, code, stdout, stderr, c.says)
		}
	}
}
