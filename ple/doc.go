// Package ple is the n-gram embedding plane: which table rows a token asks for, where they lie, the cache over them, and
// the planes made from them (spec 2.7).
//
//	tokens -> Hash.IDs -> Cache.Gather (Table below it) -> Table.Dequant -> key_proj, norm_key, value_proj -> Window
//
// [Derive] and [Hash] turn token ids into row ids. [TableSpec.Place] settles where rows are read from ([Placement]: memory,
// mapping or file), and [Table] reads exact rows of a sharded, possibly quantised table there. [Cache] is the LRU of exact
// rows over one table, shared by all requests of a model. A [Maker] fills a [Window]: for a run of rows of one sequence and
// every PLE layer, the normed keys and the values that depend on the tokens alone; Read brings the table rows as soon as
// tokens are known, Make does the arithmetic. What depends on the trunk's streams (query norm, gate, convolution) is the
// model's.
//
// The lane and the stock path call the same [Maker.Make] over the same cache, so their planes agree to the bit; a row's
// bits do not depend on the rows made beside it. History is given by the caller, from its ledger of committed tokens: the
// package keeps no mirror of it, so there is nothing to roll back.
//
// The package starts no lasting goroutines. Rows in memory are copied inline. Those of a file that can tell what is on disk
// ([Ahead]) are all asked for before the first is waited for, on one goroutine; of any other file [Cache.Gather] spreads
// many missing rows over a few goroutines that end before it returns. It knows no mailboxes and no model; [Check] is the
// lane's install check as a pure function.
package ple
