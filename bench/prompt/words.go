package prompt

import "strings"

// words are common in Go's documentation; most are one token with their leading space.
var words = strings.Fields(`
a able about above accept address after again all also always an and another any append are argument array as assign at
back base be because been before begin between bit block body bool both buffer build but by byte call can case cast caller
change channel char check clean close code common compare compile complete config connect const context convert copy count
create current data date deal debug decode default defer define delete depth do does done each element else empty encode
end ensure entry equal error every example exist exit expect export extra fail false field file find first fit flag float
follow for format found free from full func function get given go group handle has hash have header help here hold host how
if implement import in index init input insert inside instead int interface into is it item its join just keep key kind
known label large last later layer length let level like limit line link list literal load local lock log long loop main
make many map mark match max may mean memory message method min mode more most move must mutex name need nested new next nil no
node none not note nothing now null number object of off offset old on once one only open or order other out over own
package page panic parse part pass path pattern point pool print problem process public put queue range rate raw read ready
real receive record ref release remove replace report request reset result return reverse right root row rule run safe same
save scan scope search second see select send sequence server set shape share short should show side sign simple since size
slice small so sort source space split stack start state step still stop store stream string struct such sum switch sync
table take task test text than that the them then there these they this time to token top total trace tree true try turn
two type under unit until up update use user value var version wait want was way we well were what when where which while
who will with within without word work write you zero`)
