// Package ple is the n-gram embedding plane: which table rows a token asks for, where they lie, the cache over them, and
// the planes made from them (spec 2.7).
//
//	tokens -> Hash.IDs -> Cache.Gather (Table below it) -> Table.Dequant -> key_proj, norm_key, value_proj -> Window
//
// [Derive] and [Hash] turn token ids into row ids. [Table] reads exact rows of a sharded, possibly quantised table in
// place (mapped memory or positional reads). [Cache] is the LRU of exact rows over one table, shared by all requests of a
// model. A [Maker] fills a [Window]: for a run of rows of one sequence and every PLE layer, the normed keys and the values
// that depend on the tokens alone. What depends on the trunk's streams (query norm, gate, convolution) is the model's.
//
// The lane and the stock path call the same [Maker.Make] over the same cache, so their planes agree to the bit; a row's
// bits do not depend on the rows made beside it. History is given by the caller, from its ledger of committed tokens: the
// package keeps no mirror of it, so there is nothing to roll back.
//
// The package starts no lasting goroutines. [Cache.Gather] spreads many missing rows of a file over a few goroutines that
// end before it returns; rows in mapped memory are read inline. It knows no mailboxes and no model; [Check] is the
// lane's install check as a pure function.
package ple
