package quantise

import (
	"fmt"
	"slices"
	"strings"
)

// Recipe says which module is written in which format.
type Recipe struct {
	Name    string
	Default Format // of most modules; zero: nothing is quantised
	fine    Format // of the modules in sharp; zero: as Default
}

// recipes in the order in which help lists them.
var recipes = [...]Recipe{
	{Name: "optimized-speed", Default: Format{4, 32}, fine: Format{8, 64}},
	{Name: "q8", Default: Format{8, 64}},
	{Name: "q4", Default: Format{4, 32}},
	{Name: "bf16"},
}

// Names lists the recipes: optimized-speed is the public pack's mixture (spec 5.3), q8 and q4 write every matrix that may
// be quantised alike, bf16 quantises nothing.
func Names() []string {
	names := make([]string, len(recipes))
	for i, r := range recipes {
		names[i] = r.Name
	}
	return names
}

// ByName finds a recipe.
func ByName(name string) (Recipe, error) {
	if i := slices.IndexFunc(recipes[:], func(r Recipe) bool { return r.Name == name }); i >= 0 {
		return recipes[i], nil
	}
	return Recipe{}, fmt.Errorf("recipe: got %q, want one of %s", name, strings.Join(Names(), ", "))
}

// Parts of module names (spec 5.3). What carries structure stays bf16: a few bits less there cost more than anywhere else
// (spec 7, pitfall 18).
var (
	structure = [...]string{"hyper_connection", ".ple.", "mtp.fc_"}
	sharp     = [...]string{"embed_tokens", "lm_head", ".linear_attn.out_proj", ".mlp.gate", ".shared_expert", ".index_qk_proj"}
)

// Module is the format of a matrix by its canonical name ("layers.0.mlp.switch_mlp.down_proj") and its columns. Where
// groups of 64 do not divide the columns, groups of 32 are taken; where these do not either, bf16.
func (r Recipe) Module(name string, cols int) Format {
	if !r.Default.Quantised() || has(name, structure[:]) {
		return Format{}
	}
	if r.fine.Quantised() && has(name, sharp[:]) {
		return fit(r.fine, cols)
	}
	return fit(r.Default, cols)
}

// Table is the format of n-gram rows of dim columns: 4 bits in groups of 32 where these divide a row, as in the public
// packs, whatever the modules have; else bf16.
func (r Recipe) Table(dim int) Format {
	if !r.Default.Quantised() {
		return Format{}
	}
	return fit(Format{4, 32}, dim)
}

func has(name string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
}

// fit narrows the groups until they divide the columns.
func fit(f Format, cols int) Format {
	for ; f.Group >= 32; f.Group /= 2 {
		if cols%f.Group == 0 {
			return f
		}
	}
	return Format{}
}
