// Package block holds the blocks a decoder layer is made of (gated delta net, attention with QSA, experts, the PLE
// plane), written once over metal.Stream. The trunk (engine/model) and the MTP layer (engine/mtp) are both built from
// them, so a layer means the same thing in either place.
//
// A block knows weights and how to run them over the rows of a pass; it holds no state of any sequence. Which rows
// belong to which sequence comes in as spans, and scratch memory comes from the pass's [Arena]. Every result row
// depends on its own row and its own sequence only.
//
// Axis letters: R rows of the pass, H hidden, S streams, W = S*H.
package block
