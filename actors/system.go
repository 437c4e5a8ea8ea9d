package actors

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/flashlane/flashlane/actors/accountant"
	"github.com/flashlane/flashlane/actors/bus"
	"github.com/flashlane/flashlane/actors/drafter"
	"github.com/flashlane/flashlane/actors/indexer"
	"github.com/flashlane/flashlane/actors/intake"
	"github.com/flashlane/flashlane/actors/lanes"
	"github.com/flashlane/flashlane/actors/stager"
	"github.com/flashlane/flashlane/actors/supervision"
	"github.com/flashlane/flashlane/actors/verifier"
	"github.com/flashlane/flashlane/actors/worker"
	"github.com/flashlane/flashlane/engine/model"
	"github.com/flashlane/flashlane/engine/mtp"
	"github.com/flashlane/flashlane/engine/prefix"
	"github.com/flashlane/flashlane/engine/verify"
	"github.com/flashlane/flashlane/metal"
	"github.com/flashlane/flashlane/ple"
	"github.com/flashlane/flashlane/qsa"
)

// halfRows is the most rows of a pass on half of the threads: eight sequences with three drafts each.
const halfRows = 32

// maxRound is the most rows of a round: depth 7 and the committed token.
const maxRound = verify.MaxDepth + 1

// System is a running house.
type System struct {
	config Config
	actors *actor.ActorSystem
	crew   *crew
	house  *supervision.House
	board  *lanes.Board
	desk   *intake.Desk
	books  *accountant.Accountant
	totals *intake.Totals
	drafts *drafter.Acceptance
	store  *store
	tree   *prefix.Tree // nil: no prefix cache
	policy *drafter.Policy
	start  time.Time

	loaded int64 // device memory when the house opened: weights and passes

	root  *actor.PID
	pids  pids
	gear  gear
	close sync.Once
	over  chan struct{} // closed when the house closes
	gone  error         // why the house was given up
	mu    sync.Mutex
}

// pids are the living actors; written before the house opens, then only read.
type pids struct {
	lanes, intake, nursery, drafter, verifier, stager *actor.PID
	indexers                                          []*actor.PID
}

// gear is what passes need; it outlives every actor.
type gear struct {
	draft, verify, stage, index *worker.Worker
	beside                      *worker.Worker // of the second half of the verifier's threads
	keep                        *worker.Worker // opens sequences, takes snapshots
	head                        *mtp.Pass
	trunk                       *model.Pass
	halves                      []*model.Pass // that share the threads out; none if the device cannot
	maker                       *ple.Maker
	pooler                      *qsa.Pooler
	windows, chunks             *stager.Shelf
}

// Start builds the house and opens it. The caller still owns the model and closes it after Close.
func Start(c Config) (*System, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	verdicts, err := verdicts(c)
	if err != nil {
		return nil, err
	}
	s := &System{config: c, board: lanes.NewBoard(c.Lanes, verdicts), totals: &intake.Totals{}, drafts: &drafter.Acceptance{}, policy: drafter.NewPolicy(c.FixedDepth), start: time.Now(), crew: &crew{}, over: make(chan struct{})}
	for _, l := range lanes.All() {
		text, fields := s.board.VerdictLine(l)
		c.Log.Info().Fields(fields).Msg(text)
	}
	if r := s.rows(); r.Tables > 0 {
		c.Log.Info().Stringer("placement", r.Placement).Int("tables", r.Tables).Int64("rows", r.Rows).Int64("bytes", r.Bytes).Int64("cache_limit", r.Cache.Limit).Msg("n-gram rows")
	}
	s.house = &supervision.House{Register: supervision.NewRegister(), Bus: &bus.Bus{}, Log: c.Log, GiveUp: s.giveUp}
	s.books = accountant.New(c.MemoryLimit, s.fixed)
	s.desk = intake.NewDesk(c.MaxActive, c.MaxQueue, s.books)
	if err := s.open(); err != nil {
		return nil, err
	}
	quiet := func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }
	s.loaded = c.Model.Device.Used()
	s.actors = actor.NewActorSystem(actor.WithLoggerFactory(quiet), actor.WithDeadLetterThrottleInterval(10*time.Millisecond))
	s.actors.EventStream.Subscribe(payDeadLetters)
	s.spawn()
	go s.watch()
	return s, nil
}

// open makes the workers and the passes.
func (s *System) open() (err error) {
	m, dev := s.config.Model, s.config.Model.Device
	g := &s.gear
	rows := max(s.config.Chunk, maxRound*min(s.config.MaxActive, 32))
	defer func() {
		if err != nil {
			g.freePasses()
		}
	}()
	if g.trunk, err = m.NewPass(rows); err != nil {
		return fmt.Errorf("actors: trunk pass: %w", err)
	}
	if s.config.Head != nil {
		if g.head, err = s.config.Head.NewPass(rows); err != nil {
			return fmt.Errorf("actors: head pass: %w", err)
		}
	}
	if d, ok := dev.(metal.Divisible); ok && s.config.MaxActive > 1 && dev.Info().Threads > 1 {
		for _, st := range d.Divide(2) {
			half, err := m.NewPassOn(st, min(rows, halfRows))
			if err != nil {
				return fmt.Errorf("actors: half of a trunk pass: %w", err)
			}
			g.halves = append(g.halves, half)
		}
	}
	var opts []ple.MakerOption
	if s.config.PLEMode == AsyncRaw {
		opts = append(opts, ple.NoCache())
	}
	g.maker = ple.NewMaker(dev, m.PLE, opts...)
	g.pooler = qsa.NewPooler(dev, dev.NewStream())
	g.windows = stager.NewShelf(dev, m.PLE, maxRound, 2*s.config.MaxActive, s.retire)
	g.chunks = stager.NewShelf(dev, m.PLE, s.config.Chunk, 2, s.retire)
	lock := !strings.HasPrefix(m.Device.Info().Kind, "cpu/") // a GPU's context belongs to a thread
	g.draft, g.stage, g.index, g.keep = worker.Start(lock), worker.Start(lock), worker.Start(lock), worker.Start(lock)
	if len(g.halves) > 0 { // which leave no processor idle
		g.verify, g.beside = worker.StartBreathing(lock), worker.StartBreathing(lock)
	} else {
		g.verify = worker.Start(lock)
	}
	return s.openStore(m)
}

// freePasses gives back what passes hold.
func (g *gear) freePasses() {
	if g.head != nil {
		g.head.Free()
	}
	for _, p := range append(g.halves, g.trunk) {
		if p != nil {
			p.Free()
		}
	}
}

// teams are the verifier's: the whole, and its halves.
func (g *gear) teams(vocab, words int) (whole *verifier.Team, halves []*verifier.Team) {
	team := func(w *worker.Worker, p *model.Pass) *verifier.Team {
		return &verifier.Team{Worker: w, Pass: p, Logits: &verifier.Logits{Vocab: vocab, Words: words}}
	}
	whole = team(g.verify, g.trunk)
	for i, p := range g.halves {
		halves = append(halves, team([]*worker.Worker{g.verify, g.beside}[i], p))
	}
	return whole, halves
}

// policy is where snapshots are taken beside the marks: often enough in a prompt that a shared beginning is found.
var policy = prefix.Policy{Every: 512, Least: 16}

func (s *System) openStore(m *model.Model) error {
	c := &s.config
	s.store = &store{model: m, head: c.Head, policy: policy, worker: s.gear.keep, stream: m.Device.NewStream(), log: c.Log}
	if c.PrefixCache <= 0 {
		return nil
	}
	s.tree = prefix.New(prefix.Options{Pack: c.Pack, Device: m.Device.Info(), Limit: c.PrefixCache})
	s.store.tree = s.tree
	s.books.Use(evictable{s.tree})
	if d, ok := m.Device.(metal.Relieved); ok {
		d.OnFull(s.tree.Evict) // snapshots go before anything is refused
	}
	if c.CacheDir == "" {
		return nil
	}
	rebuilt := func(path string, why error) {
		c.Log.Warn().Str("file", path).AnErr("reason", why).
			Msg("disk tier of the prefix cache was spoiled and is begun anew: stored beginnings are computed again")
	}
	file, err := prefix.OpenDisk(c.CacheDir, prefix.DiskOptions{Pack: c.Pack, Device: m.Device.Info(), Shape: m.Shape, Limit: c.CacheLimit,
		Rebuilt: rebuilt, Now: c.Clock})
	if err != nil {
		return err
	}
	s.store.disk = newDisk(file, m.Device, c.Log)
	if need := m.Shape.Peak(policy.Every); need > c.PrefixCache { // what is written was in memory first
		c.Log.Warn().Int64("limit", c.PrefixCache).Int64("need", need).Int("tokens", policy.Every).
			Msg("snapshots of so many tokens do not fit --prefix-cache, and so will not be in --cache-dir either: raise it")
	}
	return nil
}

// snapshots is the verifier's side of the prefix cache.
func (s *System) snapshots() *verifier.Snapshots {
	if s.tree == nil {
		return nil
	}
	return &verifier.Snapshots{Tree: s.tree, Policy: policy, Save: s.store.save}
}

func (s *System) retire(w *ple.Window) {
	s.actors.Root.Send(s.pids.stager, stager.Retire{Window: w, Worker: s.gear.stage})
}

// payDeadLetters lets a message that reached nobody pay what it owes: a result for a session that is gone holds memory.
func payDeadLetters(event any) {
	letter, ok := event.(*actor.DeadLetterEvent)
	if !ok {
		return
	}
	if m, ok := letter.Message.(supervision.Owed); ok {
		m.Fail(supervision.ErrNobody)
	}
}

// child is an actor of the tree, in the order of spawning.
type child struct {
	name, kind string
	make       actor.Producer
	pid        **actor.PID
}

// spawn starts the root supervisor and, inside of it, everyone else.
func (s *System) spawn() {
	m, g := s.config.Model, &s.gear
	deps := &intake.Deps{House: s.house, Board: s.board, Context: m.Context(), StopIDs: s.config.StopIDs, Vocab: s.config.Vocab,
		Text: s.config.Tokenizer, Store: s.store, Need: s.need, Drafts: s.config.Head != nil, Totals: s.totals,
		Peers: func() intake.Peers {
			return intake.Peers{Drafter: s.pids.drafter, Verifier: s.pids.verifier, Intake: s.pids.intake}
		}}
	whole, halves := g.teams(m.Config.Vocab, s.config.Vocab.Words())
	judge := verifier.Deps{House: s.house, Whole: whole, Halves: halves, Chunk: s.config.Chunk, Board: s.board,
		Chunks: g.chunks, OnDemand: s.config.PLEMode == Sync, Snapshots: s.snapshots(),
		Peers: func() verifier.Peers {
			return verifier.Peers{Drafter: s.pids.drafter, Stager: s.pids.stager, Indexers: s.pids.indexers}
		}}
	draft := func() actor.Actor {
		return drafter.New(drafter.Deps{Peers: drafter.Peers{Verifier: s.pids.verifier, Stager: s.pids.stager}, Worker: g.draft,
			Pass: g.head, MaxRows: g.trunk.MaxRows(), Windows: g.windows, Board: s.board, Acceptance: s.drafts, Policy: s.policy, MaxLag: s.config.Chunk, OnDemand: s.config.PLEMode == Sync, Log: s.config.Log})
	}
	tree := []child{
		{"lanes", "lanes", func() actor.Actor { return &lanes.Actor{Board: s.board, Bus: s.house.Bus, Log: s.config.Log} }, &s.pids.lanes},
	}
	if len(m.PLE) > 0 {
		tree = append(tree, child{"stager", "stager", func() actor.Actor {
			return &stager.Actor{Worker: g.stage, Maker: g.maker, Layers: m.PLE, Board: s.board}
		}, &s.pids.stager})
	}
	s.pids.indexers = make([]*actor.PID, len(m.Indexers))
	for i, ix := range m.Indexers {
		tree = append(tree, child{"indexer-" + strconv.Itoa(ix.Layer), "indexer", func() actor.Actor {
			return &indexer.Actor{Slot: i, Worker: g.index, Pooler: g.pooler, Indexer: ix, Board: s.board}
		}, &s.pids.indexers[i]})
	}
	tree = append(tree,
		child{"verifier", "verifier", func() actor.Actor { return verifier.New(judge) }, &s.pids.verifier},
		child{"drafter", "drafter", draft, &s.pids.drafter},
		child{"sessions", "sessions", func() actor.Actor {
			return intake.NewNursery(s.desk, deps, func(p actor.Producer) *actor.Props { return s.props("session", p) })
		}, &s.pids.nursery},
		child{"intake", "intake", func() actor.Actor { return intake.New(s.desk, s.pids.nursery, deps) }, &s.pids.intake},
	)
	ready := make(chan struct{})
	s.root, _ = s.actors.Root.SpawnNamed(s.props("supervisor", func() actor.Actor {
		return actor.ReceiveFunc(func(ctx actor.Context) {
			if _, ok := ctx.Message().(*actor.Started); !ok {
				return
			}
			for _, c := range tree {
				pid, err := ctx.SpawnNamed(s.props(c.kind, c.make), c.name)
				if err != nil {
					panic(fmt.Sprintf("actors: spawn %s: %v", c.name, err)) // names are ours and distinct
				}
				*c.pid = pid
				s.house.Register.Add(pid.Id, c.kind)
			}
			close(ready)
		})
	}), "flashlane")
	<-ready
}

// props puts an actor under the house's supervision, and its children with it.
func (s *System) props(kind string, p actor.Producer) *actor.Props {
	return actor.PropsFromProducer(p, actor.WithDispatcher(s.crew), actor.WithSupervisor(s.house), actor.WithReceiverMiddleware(s.house.Middleware(kind)))
}

// fixed is what is held for good: weights and passes, and what is kept for the program, the row cache with it.
func (s *System) fixed() int64 { return s.loaded + max(s.config.Beside, s.rows().Cache.Held) }

func (s *System) giveUp(err error) {
	s.mu.Lock()
	s.gone = err
	s.mu.Unlock()
	s.config.Log.Error().Err(err).Msg("the house is given up: it serves no more requests, and the process should end")
	s.desk.Abandon(err)
	if s.config.GiveUp != nil {
		s.config.GiveUp(err)
	}
}

// ErrClosed is why a closed house is not ready.
var ErrClosed = errors.New("actors: house is closed")

// drain waits until the indexers have taken in what the passes so far left for them: the store waits for their gates, and an actor that is
// stopped forgets its mailbox.
func (s *System) drain() {
	for _, w := range []*worker.Worker{s.gear.verify, s.gear.beside} {
		passed := make(chan struct{})
		if w != nil && w.Do(worker.Job{Run: func() { close(passed) }}) {
			<-passed
		}
	}
	for _, pid := range s.pids.indexers {
		_ = s.actors.Root.PoisonFuture(pid).Wait() // after all that is in its mailbox
	}
}

// Close ends all requests, the actors and the workers, and frees what passes held. It waits at most limit for requests to
// let go.
func (s *System) Close(limit time.Duration) error {
	var err error
	s.close.Do(func() {
		close(s.over)
		s.actors.Root.Send(s.pids.intake, intake.Shut{})
		if s.Ready() == nil { // else some actor is gone, and with it what requests hold
			err = s.desk.Wait(limit)
			s.drain()
		}
		_ = s.actors.Root.StopFuture(s.root).Wait()
		g := &s.gear
		for _, w := range []*worker.Worker{g.draft, g.verify, g.beside, g.stage, g.index, g.keep} {
			if w != nil {
				w.Stop()
			}
		}
		if s.store.disk != nil {
			s.store.disk.close()
		}
		if s.tree != nil {
			if d, ok := s.config.Model.Device.(metal.Relieved); ok {
				d.OnFull(func(int64) int64 { return 0 })
			}
			s.tree.Close()
		}
		g.windows.Close()
		g.chunks.Close()
		g.pooler.Free()
		g.freePasses()
		s.actors.Shutdown()
		s.crew.close()
	})
	return err
}
